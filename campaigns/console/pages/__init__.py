"""The pages, rendered on the server. Without a script, everything can be read and done."""
