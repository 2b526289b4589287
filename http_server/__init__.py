"""A small HTTP/1.1 server for the webhook receiver and the emulator: bounded input, replies in order."""
