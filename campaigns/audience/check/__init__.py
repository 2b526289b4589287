"""The check of a table: its rows become good rows and rejects."""
