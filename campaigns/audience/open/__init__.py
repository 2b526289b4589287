"""An audience of any form becomes a table: formats, encodings, workbooks, queries."""
