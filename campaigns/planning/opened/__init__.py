"""Step 1: the audience and whatever else identifies the campaign are opened, and its names are locked."""
