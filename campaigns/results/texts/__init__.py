"""The words of results, one file for each language: pages, commands and JSON say the same."""
