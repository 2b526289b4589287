"""Rows of a table become good rows and rejects."""
