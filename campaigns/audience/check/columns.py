"""The search for columns by name in the header of an audience."""

from collections.abc import Sequence
from unicodedata import category, normalize

from drumbeat.engine.errors import ConfigurationError

NAMES_SHOWN_MAX = 20
_QUOTES = "'\"`\u2018\u2019\u201c\u201d\u201e\u00ab\u00bb"


class MissingColumn(ConfigurationError):
    """The header does not have the column, or has it more than once."""


class MissingPhones(MissingColumn):
    """The column that is missing is that of the phones."""


def column_index(header: Sequence[str], wanted: str, *, where: str, otherwise: str = "") -> int:
    """Return the index of a column: by its exact name, else by its name without regard to case, outer spaces
    and quotes, and invisible characters.

    Raise MissingColumn, which lists the columns of the file, followed by the form `otherwise`, or the columns
    that share the name.
    """
    exact = [index for index, name in enumerate(header) if name == wanted]
    alike = exact or [index for index, name in enumerate(header) if _plain(name) == _plain(wanted)]
    if len(alike) == 1:
        return alike[0]
    if alike:
        positions = ", ".join(str(index + 1) for index in alike)
        raise MissingColumn(
            f'the column name "{wanted}" occurs {len(alike)} times, in columns {positions}',
            where=where,
            remedy="rename all but one",
        )
    raise MissingColumn(
        'there is no column "{wanted}"',
        where=where,
        remedy=f"the columns are {{columns}}{otherwise}",
        values={"wanted": wanted, "columns": _listed(header)},
    )


def has_column(header: Sequence[str], wanted: str) -> bool:
    """Return whether `column_index` would find the column, or find it more than once."""
    return any(_plain(name) == _plain(wanted) for name in header)


def _plain(name: str) -> str:
    visible = "".join(character for character in normalize("NFC", name) if category(character) != "Cf")
    return " ".join(visible.split()).strip(_QUOTES).casefold()


def _listed(header: Sequence[str]) -> str:
    listed = ", ".join(f'"{name}"' for name in header[:NAMES_SHOWN_MAX])
    more = len(header) - NAMES_SHOWN_MAX
    return f"{listed} and {more} more" if more > 0 else listed
