"""Campaigns in the console: listed, watched, steered, changed and exported."""
