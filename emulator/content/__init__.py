"""What a message may hold: one check for each value of the request's `type`."""
