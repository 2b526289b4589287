"""What to send to whom: audiences, plans, progress and reports."""
