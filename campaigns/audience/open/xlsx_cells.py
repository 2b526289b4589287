"""The cells of a sheet in XLSX: which are lost, which style each has, which rows and columns are hidden."""

import re
from collections.abc import Mapping, Sequence
from typing import IO
from xml.parsers.expat import XMLParserType

from drumbeat.campaigns.audience.open.cell_error import WITHOUT_RESULT
from drumbeat.campaigns.audience.open.lost_cells import LostCells
from drumbeat.campaigns.audience.open.stored_sheet import ISO, PLAIN, StoredSheet, Styles
from drumbeat.campaigns.audience.open.stored_xml import CHUNK_BYTES

_REFERENCE = re.compile(r"\$?([A-Za-z]{1,3})\$?([0-9]{1,7})")
_DIGITS = "0123456789"
TRUE = ("1", "true", "on")


# A cell as most programs write it. What is written in another way is read element by element.
_PLAIN_CELL = re.compile(
    rb'<c r="([A-Z]{1,3})([0-9]{1,7})"(?: s="([0-9]{1,6})")?(?: t="[a-z]+[A-Z]?[a-z]*")?/?>'
)
_PLAIN_ROW = re.compile(rb'<row r="([0-9]{1,7})"')
_UNUSUAL = (b"<!", b":c ", b"<c\n", b"<c\r", b"<c\t", b"\x00")


def read_plain_cells(part: IO[bytes], numbers: Sequence[int], styles: Styles) -> bool:
    """Read the styles of a sheet without formulas and errors. Return False if it must be read in full.

    It looks only at the beginnings of cells, which takes a fourth of the time.
    """
    if not any(numbers):
        return True
    by_style = {str(at).encode(): number for at, number in enumerate(numbers)} | {b"": numbers[0]}
    last_styles: dict[bytes, bytes] = {}
    last_row, rest = 0, b""
    while chunk := part.read(CHUNK_BYTES):
        text = rest + chunk
        end = text.rfind(b"<")
        text, rest = text[:end], text[end:]
        cells = _PLAIN_CELL.findall(text)
        rows = [last_row, *map(int, _PLAIN_ROW.findall(text))]
        if (
            any(sign in text for sign in _UNUSUAL)
            or len(cells) != text.count(b"<c ") + text.count(b"<c>")
            or rows != sorted(rows)
        ):
            return False
        last_row = rows[-1]
        for letters, row, style in cells:
            if last_styles.get(letters) != style:
                last_styles[letters] = style
                column = _place_of(letters.decode() + "1")[1]
                styles.add(int(row) - 1, column, by_style.get(style, PLAIN))
    return True


class CellsReading:
    """The reading of the cells of a sheet. Rows and columns without a reference follow the previous one.
    `numbers` has the number of each style that cells name.
    """

    def __init__(self, name: str, numbers: Sequence[int], *, computes_all: bool) -> None:
        self.stored = StoredSheet(LostCells(name), Styles(name))
        self._numbers = numbers
        self._no_results = ("", "0") if computes_all else ("",)
        self._columns: dict[str, int] = {}
        self._row = self._column = -1
        self._row_is_named = self._hides_rows = False
        self._kind = ""
        self._range: str | None = None  # the cells of a formula; empty: its own cell; None: it is a value
        self._value: list[str] | None = None

        self.starts = {
            "c": self._start_cell,
            "v": self._start_value,
            "f": self._start_formula,
            "is": self._start_text,
            "row": self._start_row,
            "col": self._start_columns,
            "sheetFormatPr": self._start_sheet_format,
            "sheetPr": self._start_properties,
            "filterColumn": self._start_filter,
        }

    def attach(self, parser: XMLParserType) -> None:
        self._parser = parser

    def _start_value(self, _: Mapping[str, str]) -> None:
        if self._range is not None or self._kind == "e":
            self._value = []
            self._parser.CharacterDataHandler = self._value.append

    def _start_formula(self, attributes: Mapping[str, str]) -> None:
        self._range = attributes.get("ref", "") if attributes.get("t") == "array" else ""

    def _start_text(self, _: Mapping[str, str]) -> None:
        self._value = [""]

    def _start_cell(self, attributes: Mapping[str, str]) -> None:
        self.finish()
        self._kind, self._value = attributes.get("t", "n"), None
        self._place(attributes.get("r"))
        style = attributes.get("s", "0")
        at = int(style) if style.isdecimal() else 0
        number = self._numbers[at] if at < len(self._numbers) else PLAIN
        self.stored.styles.add(self._row, self._column, number | ISO if self._kind == "d" else number)

    def _place(self, reference: str | None) -> None:
        if reference is None:
            self._column += 1
            return
        letters = reference.rstrip(_DIGITS)
        if not self._row_is_named or (column := self._columns.get(letters)) is None:
            self._row, column = _place_of(reference)
            self._columns[letters] = column
        self._column = column

    def _start_row(self, attributes: Mapping[str, str]) -> None:
        self.finish()
        self._row_is_named = "r" in attributes
        self._row = int(attributes["r"]) - 1 if self._row_is_named else self._row + 1
        self._column = -1
        height = attributes.get("ht")
        hidden = attributes.get("hidden")
        if (
            hidden in TRUE
            or (height is not None and _is_nothing(height))
            or (self._hides_rows and hidden is None and height is None)
        ):
            self.stored.hidden_rows.add(self._row, self._row)

    def _start_columns(self, attributes: Mapping[str, str]) -> None:
        if attributes.get("hidden") in TRUE or _is_nothing(attributes.get("width", "1")):
            first = int(attributes.get("min", "1")) - 1
            self.stored.hidden_columns.append((first, int(attributes.get("max", "1")) - 1))

    def _start_sheet_format(self, attributes: Mapping[str, str]) -> None:
        self._hides_rows = attributes.get("zeroHeight") in TRUE

    def _start_properties(self, attributes: Mapping[str, str]) -> None:
        self.stored.is_filtered |= attributes.get("filterMode") in TRUE

    def _start_filter(self, _: Mapping[str, str]) -> None:
        self.stored.is_filtered = True

    def finish(self) -> None:
        """Note the cell that ends here, if it is lost."""
        if self._range is None and self._kind != "e":
            return
        self._parser.CharacterDataHandler = None
        text = "".join(self._value or ()).strip()
        if self._kind == "e":
            self.stored.lost.add(self._row, self._column, text)
        elif self._range is not None and self._has_no_result(text):
            self._add_formula(self._range)
        self._kind, self._range, self._value = "", None, None

    def _has_no_result(self, text: str) -> bool:
        if self._kind == "str":
            return self._value is None
        return text == "" or (self._kind == "n" and text in self._no_results)

    def _add_formula(self, cells: str) -> None:
        first, _, last = cells.partition(":")
        top, left = _place_of(first) if last else (self._row, self._column)
        bottom, right = _place_of(last) if last else (self._row, self._column)
        for row in range(top, bottom + 1):
            for column in range(left, right + 1):
                self.stored.lost.add(row, column, WITHOUT_RESULT)


def _is_nothing(size: str) -> bool:
    """Return whether a height or a width is 0."""
    return size.strip("0.") == "" and size != ""


def _place_of(reference: str) -> tuple[int, int]:
    """Return row and column from 0: C4 is (3, 2)."""
    if (found := _REFERENCE.fullmatch(reference)) is None:
        return 0, 0
    column = 0
    for letter in found[1].upper():
        column = column * 26 + ord(letter) - ord("A") + 1
    return int(found[2]) - 1, column - 1
