"""The opening of an audience of any form: a file, packed or not, or standard input.

CSV is read where it is. Every other form is first written to a `Spool`; everything after that is shared.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from hashlib import file_digest
from io import BufferedReader
from pathlib import Path, PurePath
from typing import BinaryIO

from drumbeat.campaigns.audience.open.change_check import ChangeCheck
from drumbeat.campaigns.audience.open.encoding import UnreadableAudience
from drumbeat.campaigns.audience.open.formats import WORKBOOKS, Packing, recognise
from drumbeat.campaigns.audience.open.json_lines import spool_json_lines
from drumbeat.campaigns.audience.open.parquet import spool_parquet
from drumbeat.campaigns.audience.open.reader import AudienceReader, AudienceTable, open_audience
from drumbeat.campaigns.audience.open.spool import Spool
from drumbeat.campaigns.audience.open.unpacking import read_stream, unpack
from drumbeat.campaigns.audience.open.workbook_reader import read_sheet_names, read_workbook
from drumbeat.campaigns.options.sources import AS_IT_IS, STANDARD_INPUT, Format, ReadOptions
from drumbeat.engine.errors import UsageError


@dataclass(frozen=True, slots=True)
class OpenAudience:
    """An audience that is open: the text of a CSV file, or a spool. `source` is the file that may change."""

    name: str
    content: BinaryIO | Spool
    source: ChangeCheck | None = None
    options: ReadOptions = AS_IT_IS
    noted: Mapping[str, str] = field(default_factory=dict)  # stored with the campaign, for people

    @property
    def left_out(self) -> Mapping[int, int]:
        """Return how many recipients of a campaign are no rows, by their error code."""
        return self.content.left_out if isinstance(self.content, Spool) else {}

    def sha256(self) -> str:
        """Return the hash of the content: of a CSV file's bytes, or of the rows of another form."""
        if isinstance(self.content, Spool):
            return self.content.sha256()
        self.content.seek(0)
        digest = file_digest(self.content, "sha256").hexdigest()  # type: ignore[arg-type]  # any file
        self.content.seek(0)
        return digest

    def table(self) -> AudienceTable:
        """Return the header and the rows. Raise UnreadableAudience if there is no header."""
        if isinstance(self.content, Spool):
            return self.content.table()
        return AudienceReader(self.content, self.name, self.options)

    def table_again(self) -> AudienceTable:
        """Return the table once more, from its beginning."""
        if not isinstance(self.content, Spool):
            self.content.seek(0)
        return self.table()

    def require_unchanged(self) -> None:
        """Raise NotReady if the file was written to since it was opened."""
        if self.source is not None:
            self.source.require_unchanged()


@contextmanager
def open_table(path: Path, options: ReadOptions = AS_IT_IS) -> Iterator[OpenAudience]:
    """Open a file, or standard input for `-`. An UnreadableAudience says what is wrong and what to do."""
    with ExitStack() as stack:
        file, name, source, found = _recognised(path, stack)
        form = options.form or found
        _check_options(form, options, name)
        if form is Format.CSV:
            yield OpenAudience(name, file, source, options)
            return
        spool = stack.enter_context(Spool(name))
        _fill(spool, file, form, options)
        if source is not None:
            source.require_unchanged()
        yield OpenAudience(spool.name, spool)


def sheets_of(path: Path) -> dict[str, int]:
    """Return the sheets of a workbook that have rows, each with their number; none for other
    forms."""
    with ExitStack() as stack:
        file, name, _, form = _recognised(path, stack)
        return read_sheet_names(file, form, name) if form in WORKBOOKS else {}


def _recognised(path: Path, stack: ExitStack) -> tuple[BinaryIO, str, ChangeCheck | None, Format]:
    file, name, source = _opened(path, stack)
    found = recognise(file, name)
    if not isinstance(found, Packing):
        return file, name, source, found
    file = stack.enter_context(unpack(file, found, name))
    if source is not None:
        source.require_unchanged()
    return file, name, source, _recognise_unpacked(file, name)


def _opened(path: Path, stack: ExitStack) -> tuple[BinaryIO, str, ChangeCheck | None]:
    if path == STANDARD_INPUT:
        name = "standard input"
        return stack.enter_context(read_stream(sys.stdin.buffer, name)), name, None
    file: BufferedReader = stack.enter_context(open_audience(path))
    return file, str(path), ChangeCheck(file, str(path))


def _recognise_unpacked(file: BinaryIO, name: str) -> Format:
    inner = PurePath(name).stem if PurePath(name).suffix else name
    found = recognise(file, inner)
    if isinstance(found, Packing):
        raise UnreadableAudience(
            f"it is packed twice, with {found} inside", where=name, remedy="unpack it first"
        )
    return found


def _check_options(form: Format, options: ReadOptions, name: str) -> None:
    if options.sheet is not None and form not in WORKBOOKS:
        raise UsageError(
            f"{{sheet}} is for workbooks, and {{name}} is {form.value}",
            remedy="remove {sheet}",
            values={"name": name},
        )
    if options.header_row is not None and form not in {Format.CSV, *WORKBOOKS}:
        raise UsageError(
            f"{{header_row}} is for workbooks and CSV, and {{name}} is {form.value}",
            remedy="remove {header_row}",
            values={"name": name},
        )
    if options.encoding is not None and form is not Format.CSV:
        raise UsageError(
            f"{{encoding}} is for CSV, and {{name}} is {form.value}",
            remedy="remove {encoding}",
            values={"name": name},
        )


def _fill(spool: Spool, file: BinaryIO, form: Format, options: ReadOptions) -> None:
    if form in WORKBOOKS:
        read_workbook(file, form, options, spool)
    elif form is Format.JSON_LINES:
        spool_json_lines(file, spool)
    else:
        spool_parquet(file, spool)
