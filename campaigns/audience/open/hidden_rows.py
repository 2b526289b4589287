"""Rows that a sheet does not show: a filter, or a person, has hidden them.

Law: nobody is sent to because a list was filtered for reading alone, and nobody is left out for it. A person
says whether hidden rows count.
"""

from collections.abc import Sequence

from drumbeat.campaigns.audience.open.encoding import UnreadableAudience
from drumbeat.campaigns.audience.open.sheet_rows import NumberedRow
from drumbeat.campaigns.audience.open.stored_sheet import StoredSheet
from drumbeat.campaigns.finding import LINES_MAX, ROWS_HIDDEN
from drumbeat.campaigns.options.sources import HiddenRowsChoice
from drumbeat.campaigns.pluralise import pluralise


class HiddenRowsUndecided(UnreadableAudience):
    """A refusal to read a sheet with hidden rows before somebody said what to do with them. `count`: how many
    they are.
    """

    count = 0


class HiddenRowsFound:
    """The rows with cells in named columns that the sheet does not show, and what is done with them."""

    def __init__(self, stored: StoredSheet, choice: HiddenRowsChoice | None) -> None:
        self.count = 0
        self.lines: list[int] = []
        self._stored = stored
        self._choice = choice
        self.code = "rows_hidden_skipped" if choice is HiddenRowsChoice.SKIP else ROWS_HIDDEN

    def leave_out(self, batch: Sequence[NumberedRow], named: Sequence[int]) -> None:
        """Count the hidden rows, and empty them if they are to be skipped: an empty row is no row."""
        for number, cells in batch:
            if number - 1 in self._stored.hidden_rows and any(cells[at] != "" for at in named):
                self.count += 1
                self.lines.append(number)
                if self._choice is HiddenRowsChoice.SKIP:
                    cells[:] = [""] * len(cells)
        del self.lines[LINES_MAX:]

    def require_choice(self, where: str) -> None:
        """Raise HiddenRowsUndecided if there are such rows and nobody said what to do with them."""
        if self.count and self._choice is None:
            hidden = pluralise(self.count, "row is hidden", "rows are hidden")
            error = HiddenRowsUndecided(
                f"{hidden}{' by a filter' if self._stored.is_filtered else ''}",
                where=f"{where}, row {self.lines[0]}",
                remedy="say with {hidden_rows} whether to read or skip them, or show them and save the file",
                key="hidden_rows",
                values={},
            )
            error.count = self.count
            raise error
