"""The row with the names of the columns, if titles stand above it.

Law: a title is never taken for names of columns, and no row is skipped unseen. A person confirms the row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from drumbeat.campaigns.audience.open.encoding import UnreadableAudience

ROWS_LOOKED_AT = 20
CELLS_SHOWN_MAX = 8
CHARACTERS_SHOWN_MAX = 40
HeadRow = tuple[int, Sequence[str]]  # its number in the file, from 1, and its cells


class HeaderRowUndecided(UnreadableAudience):
    """A refusal to read a table below titles before somebody said which row names the columns. `proposed`:
    its number, from 1. `rows`: the first rows, shortened.
    """

    proposed = 1
    rows: Sequence[HeadRow] = ()


def proposed_header_row(rows: Iterable[HeadRow]) -> int | None:
    """Return the row below titles that seems to name the columns; None if the first filled row may do so."""
    filled = [(number, _filled(cells)) for number, cells in rows]
    filled = [(number, cells) for number, cells in filled if cells]
    if len(filled) < 2:
        return None
    width = max(len(cells) for _, cells in filled)
    at, cells = next((at, cells) for at, (_, cells) in enumerate(filled) if 2 * len(cells) > width)
    return filled[at][0] if at and len(cells) > 1 and _are_names(cells) else None


def undecided(row: str, rows: Sequence[HeadRow], proposed: int, where: str) -> HeaderRowUndecided:
    """Return the refusal. `row` is what a row is called: row or line."""
    title = next((number, _filled(cells)) for number, cells in rows if _filled(cells))
    error = HeaderRowUndecided(
        f"{row} {title[0]} holds only {{title}}, perhaps a title above the header; {row} {proposed} seems to"
        " name the columns",
        where=f"{where}, {row} {title[0]}",
        remedy=f"say so with {{header_row}} {proposed}, or delete the rows above the names of the columns",
        key="header_row",
        values={"title": ", ".join(f'"{cell}"' for cell in title[1][:CELLS_SHOWN_MAX])},
    )
    error.proposed = proposed
    error.rows = [(number, _shown(cells)) for number, cells in rows]
    return error


def no_header_in(row: str, number: int, where: str) -> UnreadableAudience:
    """Return the refusal of a chosen row that has no text."""
    return UnreadableAudience(
        f"{row} {number} has no names of columns",
        where=where,
        remedy="name the row with {header_row}, counted from 1 as a spreadsheet counts",
        key="header_row",
        values={},
    )


def _filled(cells: Sequence[str]) -> list[str]:
    return [cell.strip() for cell in cells if cell.strip()]


def _are_names(cells: Sequence[str]) -> bool:
    """Return whether cells may be names of columns: each has a letter, and none is repeated."""
    has_letters = all(any(character.isalpha() for character in cell) for cell in cells)
    return has_letters and len({cell.casefold() for cell in cells}) == len(cells)


def _shown(cells: Sequence[str]) -> list[str]:
    return [cell[:CHARACTERS_SHOWN_MAX] for cell in cells[:CELLS_SHOWN_MAX]]
