"""The planning: an audience file becomes stored recipients, divided into ranges."""
