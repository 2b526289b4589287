"""Planning: turns an audience file into stored recipients, divided into ranges."""
