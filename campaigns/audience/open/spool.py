"""Tables that are no CSV: their rows are first written to a temporary file, each in one line.

Law: a row has one line, in the text format of Postgres' COPY: cells are separated by tabs; backslashes, tabs
and line ends in cells are escaped. The number of a line is therefore the number of a row in its source. Rows
are then checked in several processes, like those of CSV, and the source is read only once.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from drumbeat.campaigns.audience.open.encoding import UTF_8, UnreadableAudience, decode
from drumbeat.campaigns.audience.open.reader import (
    COLUMNS_MAX,
    Piece,
    PieceRows,
    Row,
    RowBatch,
    read_all,
    split_lines,
)
from drumbeat.campaigns.audience.open.temporary_file import (
    TEMPORARY_BYTES_MAX,
    temporary_file,
    temporary_file_errors,
)
from drumbeat.campaigns.finding import Findings

FAILURE = "the audience cannot be read"
BATCH_ROWS = 5_000  # a source writes so many rows at once, about a megabyte
_ESCAPES = (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r"))
_ESCAPED = re.compile(r"\\(.)")
_LETTERS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class Spool:
    """The temporary file of one table. It is a context manager.

    Set `header` and `form` before `table` is called; `first` is the number of the first row in its source.
    `left_out` counts recipients of a campaign who are no rows of it, by their error code.
    `file` is a temporary file that another process opened.
    """

    def __init__(self, name: str, file: BinaryIO | None = None) -> None:
        self.name = name
        self.form = ""
        self.header: Row = []
        self.first = 1
        self.findings = Findings()
        self.left_out = Counter[int]()
        with temporary_file_errors(FAILURE):
            self.file = file or temporary_file()
        self._bytes = 0

    def __enter__(self) -> "Spool":
        return self

    def __exit__(self, *error: object) -> None:
        self.file.close()

    def write_rows(self, rows: Sequence[Sequence[str]]) -> None:
        """Append rows that have as many cells as the header."""
        if rows:
            self.write(encode_rows(rows))

    def write(self, text: bytes) -> None:
        """Append encoded rows. Raise UnreadableAudience above the limit, so that no bomb fills the disk."""
        self._bytes += len(text)
        if self._bytes > TEMPORARY_BYTES_MAX:
            raise UnreadableAudience(
                f"the rows take more than {TEMPORARY_BYTES_MAX >> 30} GiB", where=self.name, remedy="split it"
            )
        with temporary_file_errors(FAILURE):
            self.file.write(text)

    def sha256(self) -> str:
        """Return the hash of the header and of all rows."""
        digest = hashlib.sha256(encode_rows([self.header]))
        self.file.seek(0)
        while chunk := self.file.read(1 << 20):
            digest.update(chunk)
        return digest.hexdigest()

    def check_header(self) -> None:
        """Raise UnreadableAudience if the header cannot be one. Call it before rows of its width are made."""
        if not 0 < len(self.header) <= COLUMNS_MAX:
            raise UnreadableAudience(f"the header has {len(self.header):,} columns", where=self.name)
        if "\x00" in "".join(self.header):
            raise UnreadableAudience("the header holds NUL characters", where=self.name)

    def table(self) -> "SpooledTable":
        """Return the table. Raise UnreadableAudience if its header cannot be one."""
        self.check_header()
        with temporary_file_errors(FAILURE):
            self.file.flush()
        return SpooledTable(self)


class SpooledTable:
    """The rows of a spool as an AudienceTable."""

    encoding = None
    dialect = None

    def __init__(self, spool: Spool) -> None:
        self.name = spool.name
        self.form = spool.form
        self.header = [name.strip() for name in spool.header]
        self.total_bytes = spool.file.seek(0, 2)
        self._file = spool.file
        self.findings = spool.findings
        self._first = spool.first

    def pieces(self) -> Iterator[Piece]:
        return split_lines(decode(self._file, UTF_8, self.name), self.name, self._first)

    def read(self, piece: Piece, *, final: bool) -> PieceRows:  # noqa: ARG002 - no row continues
        return PieceRows(read_spooled(piece), None)

    def batches(self) -> Iterator[RowBatch]:
        return read_all(self)


def encode_rows(rows: Sequence[Sequence[str]]) -> bytes:
    """Return rows of one width as lines of a spool."""
    text = "\n".join(map("\t".join, rows))
    between = len(rows) * (len(rows[0]) - 1)
    if "\\" in text or "\r" in text or text.count("\t") != between or text.count("\n") != len(rows) - 1:
        text = "\n".join("\t".join(map(_escape, row)) for row in rows)
    return f"{text}\n".encode()


def read_spooled(piece: Piece) -> RowBatch:
    """Return the rows of a piece of a spool."""
    lines = piece.text.split("\n")
    if not lines[-1]:
        lines.pop()
    rows = [line.split("\t") for line in lines]
    if "\\" in piece.text:
        rows = [list(map(_unescape, row)) for row in rows]
    return RowBatch(piece.read_bytes, range(piece.first, piece.first + len(rows)), rows)


def _escape(cell: str) -> str:
    for character, escaped in _ESCAPES:
        cell = cell.replace(character, escaped)
    return cell


def _unescape(cell: str) -> str:
    return _ESCAPED.sub(lambda found: _LETTERS.get(found[1], found[1]), cell) if "\\" in cell else cell
