"""What the service tells later: receives signed events, keeps them, and settles what was in doubt."""
