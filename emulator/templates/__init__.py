"""The message templates: their content, their review, and the values that a send fills in."""
