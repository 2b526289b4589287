"""Finds the columns a campaign asks for in the header of its audience."""

from __future__ import annotations

from collections.abc import Sequence
from unicodedata import category

from engine.errors import ConfigurationError

NAMES_SHOWN_MAX = 20


class MissingColumn(ConfigurationError):
    """The header has no such column, or has it more than once."""


def column_index(header: Sequence[str], wanted: str, *, where: str, otherwise: str = "") -> int:
    """The index of a column: by its exact name, else by its name trimmed, without regard to case and to
    characters that nobody sees.

    Raises MissingColumn listing the columns there are, with what to do `otherwise`; or the places of a name
    that is there twice.
    """
    exact = [index for index, name in enumerate(header) if name == wanted]
    alike = exact or [index for index, name in enumerate(header) if _plain(name) == _plain(wanted)]
    if len(alike) == 1:
        return alike[0]
    if alike:
        places = ", ".join(str(index + 1) for index in alike)
        raise MissingColumn(
            f'the column "{wanted}" is there {len(alike)} times, as columns {places}',
            where=where,
            remedy="rename all but one",
        )
    raise MissingColumn(
        f'there is no column "{wanted}"', where=where, remedy=f"it has {_listed(header)}{otherwise}"
    )


def _plain(name: str) -> str:
    visible = "".join(character for character in name if category(character) != "Cf")
    return " ".join(visible.split()).casefold()


def _listed(header: Sequence[str]) -> str:
    shown = ", ".join(f'"{name}"' for name in header[:NAMES_SHOWN_MAX])
    more = len(header) - NAMES_SHOWN_MAX
    return f"{shown} and {more} more" if more > 0 else shown
