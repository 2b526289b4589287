"""A benchmark report: its content, its text, and the comparison of two reports."""
