"""The words of the pages: one file for each language, with the same keys in the same order."""
