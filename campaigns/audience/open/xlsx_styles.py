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

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "numFmt":
            # Conditional formats come later, and repeat the numbers.
            self._codes.setdefault(attributes.get("numFmtId", ""), attributes.get("formatCode", ""))
        elif tag in ("cellStyleXfs", "cellXfs", "cellStyles", "dxfs"):
            self._in_cells = tag == "cellXfs"
        elif tag == "xf" and self._in_cells:
            self.numbers.append(self._number(attributes.get("numFmtId", "0")))

    def _number(self, identifier: str) -> int:
        code = self._codes.get(identifier)
        if code is None:
            code = BUILT_IN.get(int(identifier), GENERAL) if identifier.isdecimal() else GENERAL
        return self.known.number_of(code)
