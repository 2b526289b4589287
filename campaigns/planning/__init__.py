"""Planning: from an audience file to frozen recipients, cut into ranges."""
