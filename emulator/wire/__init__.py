"""HTTP as the emulator speaks it: one connection, one request, one reply, one table of routes."""
