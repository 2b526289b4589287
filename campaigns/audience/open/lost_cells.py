"""The cells of a sheet that hold no value and are not empty: errors, and formulas without a stored result.

python-calamine reads both as empty cells, and leaves out rows that hold nothing else. They are therefore read
a second time, from the stored XML or the records of the sheet. Nothing else is kept of it: a lost cell takes
eight bytes.
"""

from array import array
from collections.abc import Iterator

from drumbeat.campaigns.audience.open.cell_error import ERROR_WORDS, UNNAMED
from drumbeat.campaigns.audience.open.encoding import UnreadableAudience

_WORDS = sorted(ERROR_WORDS)
_NUMBERS = {word: number for number, word in enumerate(_WORDS)}
_COLUMN_BITS, _WORD_BITS = 20, 8  # a cell is packed into 64 bits
COLUMNS_MAX = 16_384  # no form of workbook has wider sheets
# One element of a workbook can stand for all 17 billion cells of a sheet. CELLS_MAX take 200 MB to sort.
CELLS_MAX = 4_000_000


class LostCells:
    """The lost cells of one sheet, with rows and columns from 0. `name` is that of the file."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._cells = array("Q")
        self.first_column = COLUMNS_MAX
        self.last_column = self.last_row = -1

    def add(self, row: int, column: int, word: str) -> None:
        """Note a cell; a word that is in no table counts as an error without a name. Raise UnreadableAudience
        if there are more than CELLS_MAX.
        """
        if len(self._cells) >= CELLS_MAX:
            raise UnreadableAudience(
                f"more than {CELLS_MAX:,} cells hold errors or formulas without a stored result",
                where=self._name,
                remedy="open the workbook in a spreadsheet, correct it and save it as XLSX",
            )
        known = _NUMBERS.get(word.strip().upper(), _NUMBERS[UNNAMED])
        self._cells.append((row << _COLUMN_BITS | column) << _WORD_BITS | known)
        self.first_column = min(self.first_column, column)
        self.last_column = max(self.last_column, column)
        self.last_row = max(self.last_row, row)

    def by_row(self) -> Iterator[tuple[int, int, str]]:
        """Give row, column and word of each cell, in the order of rows."""
        for cell in sorted(self._cells):
            place, known = cell >> _WORD_BITS, cell & ((1 << _WORD_BITS) - 1)
            yield place >> _COLUMN_BITS, place & ((1 << _COLUMN_BITS) - 1), _WORDS[known]
