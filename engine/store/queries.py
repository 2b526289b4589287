"""Loads named SQL statements from the `.sql` files beside this module.

A file `sql/queries/<group>.sql` holds statements, each headed by a line `-- name: <name>`; comments between
the header and the statement explain it. `queries("claims")["advance_watermark"]` is the statement's text.
"""

import re
from functools import cache
from importlib.resources import files

_HEADER = re.compile(r"^-- name: (?P<name>[a-z_]+)\s*$", re.MULTILINE)


@cache
def queries(group: str) -> dict[str, str]:
    """All statements of one group, by name. Raises KeyError at use for a name that is not there."""
    text = (files("engine.store") / "sql" / "queries" / f"{group}.sql").read_text("utf-8")
    parts = _HEADER.split(text)
    named = dict(zip(parts[1::2], (body.strip().rstrip(";") for body in parts[2::2]), strict=True))
    if len(named) * 2 != len(parts) - 1:
        raise ValueError(f"{group}.sql: a statement name occurs twice")
    return named
