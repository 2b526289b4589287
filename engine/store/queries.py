"""The named SQL statements, loaded from the `.sql` files beside this module.

A file `sql/queries/<group>.sql` holds statements for one purpose. Each begins with a line `-- name: <name>`;
comments between that line and the statement explain it. `queries("claims")["advance_watermark"]` is the text
of a statement.
"""

import re
from functools import cache
from importlib.resources import files

_HEADER = re.compile(r"^-- name: (?P<name>[a-z_]+)\s*$", re.MULTILINE)


_GROUP_OF: dict[str, str] = {}  # the group of each statement that this process has loaded


def queries(group: str) -> dict[str, str]:
    """Return all statements of one group, by name. Using a name that does not exist raises KeyError."""
    return load_statements("drumbeat.engine.store", group)


@cache
def load_statements(package: str, group: str) -> dict[str, str]:
    """Return the statements of the file `sql/queries/<group>.sql` of a package, by name."""
    name = f"{group}.sql"
    named = named_statements((files(package) / "sql" / "queries" / name).read_text("utf-8"), name)
    _GROUP_OF.update(dict.fromkeys(named.values(), group))
    return named


def group_of(statement: str) -> str | None:
    """Return the group of a loaded statement, or None if it stands in no `.sql` file."""
    return _GROUP_OF.get(statement)


def named_statements(text: str, file_name: str) -> dict[str, str]:
    """Return the statements of a file's text, by name. Raises ValueError if a name occurs twice."""
    parts = _HEADER.split(text)
    named = dict(zip(parts[1::2], (body.strip().rstrip(";") for body in parts[2::2]), strict=True))
    if len(named) * 2 != len(parts) - 1:
        raise ValueError(f"{file_name}: a statement name occurs twice")
    return named
