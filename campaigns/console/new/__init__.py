"""New campaigns in the console: a list, its check, the message, the sending, and the draft made of them."""
