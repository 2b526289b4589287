"""Step 2: the options are checked against the database: the end, the numbers, the templates."""
