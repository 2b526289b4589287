"""How many phones repeat an earlier one, of any number of phones, exactly and without a database.

They are dealt to parts by their digits, and each part is counted by itself. Of more than a million, all but
what is being dealt lies in a temporary file without a name, 8 bytes a phone.
"""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import IO

from engine.errors import ConfigurationError

PARTS = 251  # a prime, or numbers that end alike would fall into few parts; 40,000 of ten million in each
PART_PHONES = 4_096  # a part that holds so many is written away; 8 MiB for all of them


class DuplicateCounter:
    """Takes phones by `add`, then says by `count` how many of them are there again. A context."""

    def __init__(self) -> None:
        self._parts = [array("q") for _ in range(PARTS)]
        self._offsets: list[list[int]] = [[] for _ in range(PARTS)]  # of what is written away of each
        self._file: IO[bytes] | None = None

    def __enter__(self) -> DuplicateCounter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, phones: Iterable[int]) -> None:
        """ConfigurationError where there is no room for the temporary file; so of `count`."""
        for phone in phones:
            self._parts[phone % PARTS].append(phone)
        for number, part in enumerate(self._parts):
            if len(part) >= PART_PHONES:
                self._write_away(number, part)

    def count(self) -> int:
        return sum(map(self._count_part, range(PARTS)))

    def _write_away(self, number: int, part: array[int]) -> None:
        with _told():
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="drumbeat-")  # noqa: SIM115 - kept until the end
            while len(part) >= PART_PHONES:
                self._offsets[number].append(self._file.tell())
                self._file.write(part[:PART_PHONES].tobytes())
                del part[:PART_PHONES]

    def _count_part(self, number: int) -> int:
        seen = set(self._parts[number])
        phones = len(self._parts[number])
        for offset in self._offsets[number]:
            written = array("q")
            with _told():
                assert self._file is not None
                self._file.seek(offset)
                written.frombytes(self._file.read(PART_PHONES * written.itemsize))
            seen.update(written)
            phones += len(written)
        return phones - len(seen)


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ConfigurationError(
            f"repeated numbers cannot be counted: {error.strerror}",
            where=tempfile.gettempdir(),
            remedy="make room there, or name another directory by TMPDIR",
        ) from error
