"""A benchmark report: its content, its text, its page, and the comparison of two reports."""
