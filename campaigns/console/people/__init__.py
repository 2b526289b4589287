"""People in the console: recipients, replies, one person, and the suppression list."""
