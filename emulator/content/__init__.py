"""The checks of a message's content: one for each value of the request's `type`."""
