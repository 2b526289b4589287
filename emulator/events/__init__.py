"""What the service pushes to the business: when it happens, how it is packed, and bringing it there."""
