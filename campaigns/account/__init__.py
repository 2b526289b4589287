"""What the account at the service has, as stored here: business numbers and message templates."""
