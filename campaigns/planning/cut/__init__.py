"""Step 4: the recipients are cut into ranges."""
