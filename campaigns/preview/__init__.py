"""Messages before they are sent: as their readers will see them, to oneself, and as a plan."""
