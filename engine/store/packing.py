"""The status events as the store keeps them until they are applied: one row for many events, one array a
field.

Arrays are written as text. The JSON writer formats a thousand numbers in 60 us; the driver's encoder inspects
each element and takes about 500 us.
"""

from collections.abc import Sequence
from typing import TypeAlias

import orjson

from drumbeat.engine.core.events.records import INSTALLATION, StatusRow

GROUP_EVENTS_MAX = 1_000  # about 200 KB; the status applier takes at least one whole row

# installation, events, and the fields of a StatusEvent without the installation, in their order.
GroupRow: TypeAlias = tuple[str | int | None, ...]


def pack(statuses: Sequence[StatusRow]) -> list[GroupRow]:
    """Return the rows that hold these events, each of one installation and at most GROUP_EVENTS_MAX events.

    Raises TypeError for text that is not valid Unicode and for numbers beyond 64 bits.
    """
    return [
        _row(part[first : first + GROUP_EVENTS_MAX])
        for part in _by_installation(statuses)
        for first in range(0, len(part), GROUP_EVENTS_MAX)
    ]


def _by_installation(statuses: Sequence[StatusRow]) -> list[Sequence[StatusRow]]:
    if len({status[INSTALLATION] for status in statuses}) == 1:
        return [statuses]
    parts: dict[str | None, list[StatusRow]] = {}
    for status in statuses:
        parts.setdefault(status[INSTALLATION], []).append(status)
    return list(parts.values())


def _row(statuses: Sequence[StatusRow]) -> GroupRow:
    fields = list(zip(*statuses, strict=True))
    installation = fields.pop(INSTALLATION)[0]
    return (installation, len(statuses), *map(_array, fields))


def _array(values: Sequence[str | int | None]) -> str | None:
    """Return `{1,NULL,"a"}`, or None if there are only Nones."""
    if values[0] is None and values.count(None) == len(values):
        return None
    written = orjson.dumps(values)[1:-1]
    if b"\\" in written:  # Postgres reads JSON escapes differently
        written = b",".join(map(_element, values))
    return f"{{{written.decode()}}}"


def _element(value: str | int | None) -> bytes:
    if not isinstance(value, str):
        return orjson.dumps(value)
    return b'"%b"' % value.replace("\\", "\\\\").replace('"', '\\"').encode()
