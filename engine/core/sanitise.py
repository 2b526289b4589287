"""Texts of others, fit to be shown: a terminal obeys what stands in them, and so may whatever reads a log.

Law: what the service says in words passes here before anybody keeps it. Letters of any script stay.
"""

from __future__ import annotations

_ENDS_OF_LINES = ("\u2028", "\u2029")
_DIRECTIONS = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
# What moves the cursor, breaks the line or turns the direction of whatever shows it.
CONTROLS = frozenset((*map(chr, (*range(0x20), *range(0x7F, 0xA0), *_DIRECTIONS)), *_ENDS_OF_LINES))
_FIT = {ord(control): " " if control.isspace() else None for control in CONTROLS}


def shown(text: str) -> str:
    """The text on one line, without controls."""
    return text.translate(_FIT)
