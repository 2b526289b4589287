"""Step 3: the rows are checked and staged, and whom the campaign leaves out is found."""
