"""A reader of an audience file, in batches of rows, each with the line where it starts. Memory does not grow
with the file.

Law: a row that cannot be read is lost alone. A quoted cell that is never closed would otherwise take the rest
of the file: if a row of several lines is wrong, only its first line is rejected, and reading continues at the
next line. Most pieces have one row in each line and are split in one call.
"""

from __future__ import annotations

import csv
import io
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

from drumbeat.campaigns.audience.open.delimiter import hinted_delimiter
from drumbeat.campaigns.audience.open.dialect import Dialect, LineCursor, dialect_of
from drumbeat.campaigns.audience.open.encoding import (
    Encoding,
    TextChunk,
    UnreadableAudience,
    count_lines,
    decode,
    detect,
)
from drumbeat.campaigns.audience.open.header_row import no_header_in
from drumbeat.campaigns.audience.open.layout import is_separators, require_one_table
from drumbeat.campaigns.finding import Findings
from drumbeat.campaigns.options.sources import AS_IT_IS, ReadOptions
from drumbeat.campaigns.reject import Reject

LINE_CHARACTERS_MAX = 1 << 20  # a line is held in memory; a file with a longer one is not a table
ROW_CHARACTERS_MAX = 1 << 20  # limit of a row with line breaks in quotes; it may be read twice
HEAD_CHARACTERS = 1 << 16  # holds the whole header, even with line breaks in its names
HEAD_LINES = 1_000  # show the dialect, a title and a second table; all of them would cost a tenth of a second
COLUMNS_MAX = 1_000

Row = list[str]


@dataclass(slots=True)
class RowBatch:
    """A batch of rows as wide as the header, in file order. `rows[i]` starts in line `lines[i]`, from 1."""

    read_bytes: int
    lines: Sequence[int] = ()
    rows: list[Row] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of complete lines with their line ends. `first` is the number of the first line, from 1."""

    first: int
    text: str
    read_bytes: int

    def lines(self) -> list[str]:
        return list(io.StringIO(self.text, newline=""))

    def parts(self, characters: int) -> Iterator[Piece]:
        """Give the same lines in pieces of at most `characters`. A longer line is a piece of its own."""
        at, first = 0, self.first
        while at < len(self.text):
            end = self.text.rfind("\n", at, at + characters) + 1 or len(self.text)
            part = Piece(first, self.text[at:end], self.read_bytes)
            yield part
            at, first = end, first + count_lines(part.text)


class PieceRows(NamedTuple):
    """The rows of a piece, and the lines of its last row if that continues in the next piece."""

    batch: RowBatch
    rest: Piece | None


class AudienceTable(Protocol):
    """A table of recipients, whatever it was read from: a header, then rows in pieces, once.

    `form` names what it was read from. `dialect` and `encoding` are those of a CSV file, else None.
    `findings` are those that the form shows before any row is checked.
    """

    @property
    def name(self) -> str: ...
    @property
    def form(self) -> str: ...
    @property
    def header(self) -> Row: ...
    @property
    def total_bytes(self) -> int: ...
    @property
    def encoding(self) -> Encoding | None: ...
    @property
    def dialect(self) -> Dialect | None: ...
    @property
    def findings(self) -> Findings: ...

    def pieces(self) -> Iterator[Piece]:
        """Return the rows in pieces of about a mebibyte, at least one piece."""

    def read(self, piece: Piece, *, final: bool) -> PieceRows:
        """Return the rows of a piece. `final` says that no other piece follows."""

    def batches(self) -> Iterator[RowBatch]:
        """Return all rows. Call either this or `pieces`."""


class _Problem(NamedTuple):
    """The reason why a row cannot be read: a code of rejects, and a note for people."""

    code: str
    note: str = ""


class AudienceReader:
    """A reader of an open audience file: `header`, `dialect` and `encoding`, then `batches()` once.

    Raises UnreadableAudience.
    """

    form = "CSV"

    def __init__(self, file: BinaryIO, name: str, options: ReadOptions = AS_IT_IS) -> None:
        self.name = name
        self.findings = Findings()
        self.encoding: Encoding = detect(file, options.encoding)
        self.total_bytes = os.fstat(file.fileno()).st_size
        self._pieces = split_lines(decode(file, self.encoding, name), name)
        self._header_row = options.header_row
        self._ahead = self._read_head()
        self.dialect = self._read_dialect(keep_spaces=options.keep_spaces)
        self.header = self._read_header()

    def batches(self) -> Iterator[RowBatch]:
        """Return all rows after the header, in batches of about a mebibyte."""
        return read_all(self)

    def pieces(self) -> Iterator[Piece]:
        """Give the lines after the header in pieces of about a mebibyte. Call this or `batches`."""
        yield self._ahead
        yield from self._pieces

    def read(self, piece: Piece, *, final: bool) -> PieceRows:
        """Return the rows of a piece. `final` says that no other piece follows."""
        batch = read_plain(piece, self.dialect, len(self.header))
        return self._read_row_by_row(piece, final) if batch is None else PieceRows(batch, None)

    def _read_head(self) -> Piece:
        """Return the first lines as one piece with the whole header, without blank lines before it."""
        text, read_bytes = "", 0
        for piece in self._pieces:
            text, read_bytes = text + piece.text, piece.read_bytes
            if len(text) >= HEAD_CHARACTERS:
                break
        # In concatenated files, and in files with two byte order marks, a mark is part of the text.
        head = Piece(1, text.lstrip("\ufeff"), read_bytes)
        lines = head.lines()
        blank = next((at for at, line in enumerate(lines) if not is_separators(line)), len(lines))
        if blank == len(lines):
            raise UnreadableAudience(
                "the file is empty", where=self.name, remedy="its first line must name the columns"
            )
        return _without(head, lines, blank)

    def _read_dialect(self, *, keep_spaces: bool) -> Dialect:
        lines = self._ahead.lines()
        if (hinted := hinted_delimiter(lines[0])) is not None:
            above = next((at for at, line in enumerate(lines) if at and not is_separators(line)), len(lines))
            self._ahead = _without(self._ahead, lines, above)
            lines = lines[above:] or [""]
        if self._header_row is not None:
            lines = self._leave_titles(lines, self._header_row)
        return dialect_of(lines[:HEAD_LINES], hinted, keep_spaces=keep_spaces)

    def _leave_titles(self, lines: list[str], header_row: int) -> list[str]:
        """Leave out the lines above the chosen header. Return the others."""
        above = header_row - self._ahead.first
        if not 0 <= above < len(lines) or is_separators(lines[above]):
            raise no_header_in("line", header_row, self.name)
        self._ahead = _without(self._ahead, lines, above)
        return lines[above:]

    def _read_header(self) -> Row:
        lines = self._ahead.lines()
        cursor = LineCursor([self.dialect.prepared(line) for line in lines[:HEAD_LINES]])
        require_one_table(
            lines[:HEAD_LINES],
            self._ahead.first,
            self.dialect,
            self.name,
            is_header_chosen=self._header_row is not None,
        )
        try:
            header = list(map(str.strip, next(self.dialect.reader(cursor), [])))
        except csv.Error as error:
            raise UnreadableAudience(
                f"the header cannot be read: {error}", where=f"{self.name}, line {self._ahead.first}"
            ) from error
        if not header or len(header) > COLUMNS_MAX:
            raise UnreadableAudience(f"the header has {len(header):,} columns", where=self.name)
        if "\x00" in "".join(header):
            raise UnreadableAudience(
                f"the header, read as {self.encoding.label}, holds NUL characters",
                where=f"{self.name}, line {self._ahead.first}",
                remedy="the file is not text, or its encoding cannot be detected; export it as UTF-8",
            )
        self._ahead = _without(self._ahead, lines, cursor.position)
        return header

    def _read_row_by_row(self, piece: Piece, final: bool) -> PieceRows:
        lines = piece.lines()
        cursor = LineCursor(list(io.StringIO(self.dialect.prepared(piece.text), newline="")))
        reader = self.dialect.reader(cursor)
        starts: list[int] = []
        batch = RowBatch(piece.read_bytes, starts)
        while (start := cursor.position) < len(lines):
            found = self._read_row(reader, cursor)
            if isinstance(found, _Problem):
                if cursor.ran_out and not final and _may_continue(lines[start:]):
                    return PieceRows(batch, _without(piece, lines, start))
                cursor.position, cursor.ran_out = start + 1, False
                found = self._read_odd(lines[start], found)
            if isinstance(found, _Problem):
                reject = Reject(piece.first + start, found.code, "", lines[start].rstrip("\r\n"), found.note)
                batch.rejects.append(reject)
            elif found:
                starts.append(piece.first + start)
                batch.rows.append(found)
        return PieceRows(batch, None)

    def _read_row(self, reader: Iterator[Row], cursor: LineCursor) -> Row | _Problem:
        """Return the next row, as wide as the header; an empty one for blank lines."""
        start = cursor.position
        try:
            row = next(reader)
        except csv.Error as error:
            return _Problem("cell_size" if "field limit" in str(error) else "row_quotes")
        width = len(self.header)
        if is_blank(row) and len(row) != width:
            return []
        # A short row of several lines is rather one whose quote is closed too late.
        if len(row) < width and cursor.position > start + 1:
            return _Problem("row_shape", _counts(row, width))
        return as_wide(row, width) or _Problem("row_shape", _counts(row, width))

    def _read_odd(self, line: str, problem: _Problem) -> Row | _Problem:
        """Return the row of a line that is wrong as it stands, read in another dialect, or its problem."""
        if problem.code == "cell_size" and len(line) <= csv.field_size_limit():
            problem = _Problem("row_quotes")  # an unclosed quote made the cell too large
        if problem.code == "cell_size" or '"' not in line:
            return problem
        fitted = (as_wide(row, len(self.header)) for row in self.dialect.odd_rows(line))
        return next(filter(None, fitted), None) or (_Problem("row_backslash") if '\\"' in line else problem)


def split_lines(chunks: Iterator[TextChunk], name: str, first: int = 1) -> Iterator[Piece]:
    """Give the complete lines of a text, at least one piece. `first` is the number of the first line."""
    incomplete, read_bytes = "", 0
    for chunk, read_bytes in chunks:
        text = incomplete + chunk
        # A carriage return at the end of the chunk may be half of a line end.
        end = max(text.rfind("\n"), text.rfind("\r", 0, len(text) - 1)) + 1
        piece = Piece(first, text[:end], read_bytes)
        first, incomplete = first + count_lines(piece.text), text[end:]
        if len(incomplete) > LINE_CHARACTERS_MAX:
            raise line_too_long(first, name)
        yield piece
    yield Piece(first, incomplete, read_bytes)


def line_too_long(line: int, name: str) -> UnreadableAudience:
    return UnreadableAudience(
        f"line {line} is longer than {LINE_CHARACTERS_MAX:,} characters",
        where=name,
        remedy="it is not a table, or its line ends are lost; export it again with one row in each line",
    )


def read_all(table: AudienceTable) -> Iterator[RowBatch]:
    """Give all rows of a table in batches, read by this process alone."""
    pieces = table.pieces()
    piece = next(pieces)
    for following in chain(pieces, [None]):
        found = table.read(piece, final=following is None)
        yield found.batch
        if following is not None:
            piece = joined(found.rest, following)


def read_plain(piece: Piece, dialect: Dialect, width: int) -> RowBatch | None:
    """Return the rows of a piece with one row in each line; None if a row spans lines or cannot be read.

    Such a piece is read row by row, after the previous piece, whose last row may continue in it.
    """
    lines = list(io.StringIO(dialect.prepared(piece.text), newline=""))
    try:
        rows = list(dialect.reader(lines))
    except csv.Error:
        return None
    if len(rows) != len(lines):  # a row spans several lines
        return None
    batch = RowBatch(piece.read_bytes, range(piece.first, piece.first + len(rows)), rows)
    if set(map(len, rows)) <= {width}:
        return batch
    return _fitted(batch, piece.lines(), width)


def _fitted(batch: RowBatch, lines: list[str], width: int) -> RowBatch:
    """Return the batch with rows as wide as the header. Blank rows of another width are left out."""
    fitted = RowBatch(batch.read_bytes, numbers := [])
    for number, line, row in zip(batch.lines, lines, batch.rows, strict=True):
        if len(row) != width and is_blank(row):
            continue
        if (wide := as_wide(row, width)) is None:
            note = _counts(row, width)
            fitted.rejects.append(Reject(number, "row_shape", "", line.rstrip("\r\n"), note))
        else:
            numbers.append(number)
            fitted.rows.append(wide)
    return fitted


def as_wide(row: Row, width: int) -> Row | None:
    """Return the row as wide as the header: with empty cells for missing ones, without empty ones beyond it.
    None if cells beyond it are filled.
    """
    if len(row) == width:
        return row
    return (row + [""] * (width - len(row)))[:width] if is_blank(row[width:]) else None


def _counts(row: Row, width: int) -> str:
    return f"{len(row)}, not {width}"


def is_blank(row: Row) -> bool:
    """Return whether the row has no text. Spreadsheets leave such lines at the end; they are not rows."""
    return not any(cell and not cell.isspace() for cell in row)


def joined(rest: Piece | None, following: Piece) -> Piece:
    """Return the next piece, preceded by the lines that the previous one left over."""
    if rest is None:
        return following
    return Piece(rest.first, rest.text + following.text, following.read_bytes)


def _may_continue(lines: list[str]) -> bool:
    return sum(map(len, lines)) <= ROW_CHARACTERS_MAX


def _without(piece: Piece, lines: list[str], count: int) -> Piece:
    """Return the piece without its first `count` lines."""
    return Piece(piece.first + count, "".join(lines[count:]), piece.read_bytes)


def open_audience(path: Path) -> io.BufferedReader:
    """Open an audience. Raise UnreadableAudience if it is missing or not a regular file."""
    try:
        # Opening a named pipe would wait for a writer.
        if not stat.S_ISREG(path.stat().st_mode) and not path.is_dir():
            raise UnreadableAudience(
                "an audience must be a regular file, because it is read more than once",
                where=str(path),
                remedy="save it to a file first",
            )
        return path.open("rb")
    except FileNotFoundError as error:
        raise UnreadableAudience(
            "the audience file does not exist", where=str(path.absolute()), remedy="check the path"
        ) from error
    except OSError as error:
        raise UnreadableAudience(
            f"the audience file cannot be opened: {error.strerror}", where=str(path)
        ) from error
