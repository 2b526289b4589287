"""Step 5: the campaign is stored with its recipients. A dry run stops before it."""
