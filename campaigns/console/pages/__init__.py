"""The pages, rendered on the server. A reader without scripts can read and do everything."""
