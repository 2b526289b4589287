"""Audience files: reading, checking each row, and listing the rows that cannot be sent to."""
