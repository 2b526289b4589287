"""The HTTP interface `/api/v1`: for the page's script and for programs."""
