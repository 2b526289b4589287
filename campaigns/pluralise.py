"""Counts with their nouns, for people: one row, two rows."""

from __future__ import annotations


def pluralise(count: int, one: str, many: str = "") -> str:
    """`1 row`, `2,000 rows`. `many`: where it is not `one` with an s, as for `row is bad`."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"
