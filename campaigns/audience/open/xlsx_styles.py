"""The styles of a workbook in XLSX: which cells have a number format that changes what they show."""

from collections.abc import Mapping

from drumbeat.campaigns.audience.open.number_format.formats import BUILT_IN, GENERAL
from drumbeat.campaigns.audience.open.stored_sheet import KnownStyles


class XlsxStyles:
    """The reading of the part with the styles. `numbers` has the number of each style that cells name."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.known = KnownStyles()
        self._codes: dict[str, str] = {}
        self._in_cells = False
        self.starts = {
            "numFmt": self._start_format,
            "xf": self._start_style,
            "cellXfs": self._start_cells,
            **dict.fromkeys(("cellStyleXfs", "cellStyles", "dxfs"), self._start_others),
        }

    def _start_format(self, attributes: Mapping[str, str]) -> None:
        # Conditional formats come later, and repeat the numbers.
        self._codes.setdefault(attributes.get("numFmtId", ""), attributes.get("formatCode", ""))

    def _start_cells(self, _: Mapping[str, str]) -> None:
        self._in_cells = True

    def _start_others(self, _: Mapping[str, str]) -> None:
        self._in_cells = False

    def _start_style(self, attributes: Mapping[str, str]) -> None:
        if self._in_cells:
            self.numbers.append(self._number(attributes.get("numFmtId", "0")))

    def _number(self, identifier: str) -> int:
        code = self._codes.get(identifier)
        if code is None:
            code = BUILT_IN.get(int(identifier), GENERAL) if identifier.isdecimal() else GENERAL
        return self.known.number_of(code)
