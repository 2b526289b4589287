"""The account in the console: numbers, templates, prices, users and tokens."""
