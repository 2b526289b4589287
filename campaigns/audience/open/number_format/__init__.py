"""Number formats of workbooks: what a cell with a number shows. The signs are those of ECMA-376, 18.8.31."""
