"""Files that people name, and tables that a spreadsheet can open."""
