"""The limits on people: who may get a message, how many, and when."""
