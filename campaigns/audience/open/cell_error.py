"""Cells that show an error of a spreadsheet instead of a value, in any form of an audience.

Law: such a cell is not empty, and it is no text either: no default stands in for it, and nobody reads it in
a message. A formula that a program wrote without its result is the same kind of cell. In a table it has the
word `WITHOUT_RESULT`, which stays an error in every copy of the row until a person replaces it.
"""

import re
from collections.abc import Sequence

WITHOUT_RESULT = "#FORMULA!"
MERGED = "#MERGED!"  # a cell that a merge from another column covers
UNNAMED = "#ERROR!"  # an error that the workbook does not name; Google Sheets shows it for a broken formula

# Source: the error values of Excel, LibreOffice and Google Sheets, and their names in the German, French,
# Italian, Spanish and Portuguese versions, which CSV files have.
ERROR_WORDS = frozenset(
    {
        *("#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A", "#GETTING_DATA", "#SPILL!"),
        *("#CONNECT!", "#BLOCKED!", "#UNKNOWN!", "#FIELD!", "#CALC!", "#BUSY!", "#PYTHON!", "#EXTERNAL!"),
        *("#TIMEOUT!", UNNAMED, WITHOUT_RESULT),
        *("#NV", "#BEZUG!", "#WERT!", "#ZAHL!", "#ÜBERLAUF!", "#KALK!", "#FELD!"),
        *("#VALEUR!", "#NOM?", "#NOMBRE!", "#NUL!", "#PROPAGATION!", "#CALCUL!"),
        *("#N/D", "#RIF!", "#VALORE!", "#NOME?", "#NULLO!", "#NUMERO!", "#VALOR!", "#NÚM!", "#NULO!"),
        *("#¡VALOR!", "#¡REF!", "#¿NOMBRE?", "#¡NUM!", "#¡DIV/0!", "#¡NULO!", "#¡DESBORDAMIENTO!"),
    }
)
_LIBREOFFICE = re.compile(r"ERR:[0-9]{3}")
_SIGNS = ("#", "RR:", "rr:")


def cell_problem(cell: str) -> str | None:
    """Return the reject code of a cell with an error; None for any other cell."""
    word = cell.strip().upper()
    if word == WITHOUT_RESULT:
        return "cell_formula"
    if word == MERGED:
        return "cell_merged"
    return "cell_error" if word in ERROR_WORDS or _LIBREOFFICE.fullmatch(word) else None


def failing_cells(column: Sequence[str], text: str) -> list[int]:
    """Return the indexes of cells with an error. Most columns have no sign of one in their joined `text`."""
    if not any(sign in text for sign in _SIGNS):
        return []
    return [at for at, cell in enumerate(column) if cell_problem(cell) is not None]
