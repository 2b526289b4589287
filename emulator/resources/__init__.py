"""The endpoints other than sending: accounts, numbers, templates, media, subscriptions, analytics."""
