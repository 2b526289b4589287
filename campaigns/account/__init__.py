"""The stored state of the account at the service: business numbers and message templates."""
