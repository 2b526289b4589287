"""What the service reports later: receives signed events, stores them, and settles attempts in doubt."""
