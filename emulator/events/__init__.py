"""The events that the service pushes to the business: queued, packed and delivered."""
