"""Rejected rows: the table of reject codes, and the file that lists the rows.

A spreadsheet can open the file without running a formula. The file appears complete or not at all, only its
owner can read it, and it never replaces the audience.
"""

from __future__ import annotations

import csv
import io
import os
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TextIO

from drumbeat.campaigns.audience.open.formats import stem
from drumbeat.campaigns.options.sources import STANDARD_INPUT
from drumbeat.campaigns.output.output_file import is_stream, output_file, require_other_file
from drumbeat.campaigns.output.spreadsheet import safe_cell
from drumbeat.campaigns.reject import KNOWN_PHONES, VALUE_CHARACTERS_MAX, Reject
from drumbeat.engine.errors import ConfigurationError

FIRST_MAX = 1_000  # rejects kept in memory, for a program that gave the rows; more are counted
NAME_BYTES_MAX = 200  # of a file's name, which Linux limits to 255
HEADER = ("line", "code", "column", "reason", "value")

_HEADER_LINE = ",".join(HEADER)


def default_rejects_path(audience: Path, kind: str = "rejects") -> Path:
    """Return the path of the list of rejects: `customers.rejects.csv` beside `customers.csv`. Each `kind` of
    command has its own list, so that none replaces the rejects of a campaign.

    The list goes to the working directory if the audience is an open stream such as /dev/stdin, or if its
    directory cannot be written.
    """
    beside = audience.absolute().parent
    is_open = is_stream(audience) or beside.is_relative_to("/dev")  # /dev/stdin may be a file
    is_writable = os.access(beside, os.W_OK | os.X_OK)
    directory = beside if is_writable and not is_open else Path.cwd()
    return directory / f"{stem(audience)}.{kind}.csv"


def rejects_path_of(campaign: str, audience: Path | None) -> Path:
    """Return the path of a campaign's list of rejects: beside its audience file. If the rows come from
    elsewhere, such as a query or a pipe, the list has the campaign's name and is in the working directory.
    """
    if audience is not None and audience != STANDARD_INPUT and not is_stream(audience):
        return default_rejects_path(audience)
    return Path.cwd() / f"{_file_name(campaign)}.rejects.csv"


def _file_name(campaign: str) -> str:
    return campaign.replace("/", "-").encode()[:NAME_BYTES_MAX].decode(errors="ignore")


def spreadsheet_safe(value: str) -> str:
    """Return the value, cut to a limit, without NUL, and quoted if a spreadsheet would run it."""
    return safe_cell(value[:VALUE_CHARACTERS_MAX].replace("\x00", "\N{REPLACEMENT CHARACTER}"))


def require_no_reject_list(header: Iterable[str], where: str) -> None:
    """Raise ConfigurationError if the header is that of a list of rejects.

    The list holds duplicates too. A campaign from it would send to people who are in the first campaign.
    """
    if tuple(header) == HEADER:
        raise ConfigurationError(
            "this is a list of rejected rows; its duplicates are people who are in the campaign already",
            where=where,
            remedy="copy the rows to correct with `drumbeat audience rejected`",
        )


class RejectFile:
    """A writer of rejects to a draft. `publish` puts the draft in its place; without it, the draft is removed
    at the end.

    The file is UTF-8 with a byte order mark, which spreadsheets need for accents. If there is no reject,
    there is no file, and the list of an earlier call is removed. A device or a pipe is opened at once and
    written to directly. It raises UsageError if `path` is the `source` of the rows.
    `first` has the first FIRST_MAX rejects.
    """

    def __init__(self, path: Path, source: Path | None) -> None:
        if source is not None:
            require_other_file(path, source, "rejects")
        self.path = path
        self.counts: Counter[str] = Counter()
        self.first: list[Reject] = []
        self._target = output_file(path)
        self._file: TextIO | None = None

    def __enter__(self) -> RejectFile:
        if self._target.is_direct:
            try:
                self._open()
            except OSError as error:
                raise self._unwritable(error) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            with suppress(OSError):  # the failed write raised already
                self._file.close()
            self._target.drop()

    def add(self, rejects: Iterable[Reject]) -> None:
        """Append rejects. Raise ConfigurationError if the file cannot be written."""
        rows = []
        for reject in rejects:
            self.counts[reject.code] += 1
            if len(self.first) < FIRST_MAX:
                self.first.append(reject)
            value = reject.value if reject.code in KNOWN_PHONES else spreadsheet_safe(reject.value)
            column = spreadsheet_safe(reject.column)
            rows.append((reject.line, reject.code, column, reject.reason, value))
        if rows:
            self._write(rows)

    def publish(self) -> Path | None:
        """Put the file in its place and return its path; None if there is no reject."""
        if self._file is None:
            self._remove_stale()
            return None
        try:
            self._file.flush()
            if not self._target.is_direct:
                os.fsync(self._file.fileno())
            self._file.close()
            self._target.publish()
        except OSError as error:
            raise self._unwritable(error) from error
        self._file = None
        return self.path if self.counts else None

    def _write(self, rows: list[tuple[int, str, str, str, str]]) -> None:
        try:
            file = self._file or self._open()
            if self.counts.total() == len(rows):
                csv.writer(file).writerow(HEADER)
            csv.writer(file).writerows(rows)
        except OSError as error:
            raise self._unwritable(error) from error

    def _open(self) -> TextIO:
        self._file = os.fdopen(self._target.open(), "w", encoding="utf-8-sig", newline="")
        return self._file

    def _remove_stale(self) -> None:
        """Remove an old list, but no other file that has this name."""
        try:
            with self._target.path.open("rb") as file:
                first_line = io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace").readline(100)
            if first_line.strip() == _HEADER_LINE:
                self._target.path.unlink(missing_ok=True)
        except OSError:
            return

    def _unwritable(self, error: OSError) -> ConfigurationError:
        return ConfigurationError(
            f"the list of rejected rows cannot be written: {error.strerror}",
            where=str(self.path),
            remedy="name another file with {rejects}",
            values={},
        )
