"""An exact count of phones that repeat an earlier one, in bounded memory and without a database.

The phones are divided into parts by their digits, and each part is counted alone. If there are more than a
million, most of them are in an unnamed temporary file, 8 bytes each.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from types import TracebackType
from typing import BinaryIO

from drumbeat.campaigns.audience.open.temporary_file import temporary_file, temporary_file_errors

PARTS = 251  # a prime spreads phones that end alike; of ten million, each part has 40,000
PART_PHONES = 4_096  # a part with this many is written to the file; all parts take 8 MiB
FAILURE = "duplicates cannot be counted"


class DuplicateCounter:
    """A counter of duplicates. `add` takes phones, and `count` returns how many repeat an earlier one. It is
    a context manager.
    """

    def __init__(self) -> None:
        self._parts = [array("q") for _ in range(PARTS)]
        self._offsets: list[list[int]] = [[] for _ in range(PARTS)]  # in the file, of each part's blocks
        self._file: BinaryIO | None = None

    def __enter__(self) -> DuplicateCounter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, phones: Iterable[int]) -> None:
        """Take phones. This and `count` raise ConfigurationError if the temporary file fails."""
        for phone in phones:
            self._parts[phone % PARTS].append(phone)
        for number, part in enumerate(self._parts):
            if len(part) >= PART_PHONES:
                self._write_to_file(number, part)

    def count(self) -> int:
        return sum(map(self._count_part, range(PARTS)))

    def _write_to_file(self, number: int, part: array[int]) -> None:
        with temporary_file_errors(FAILURE):
            if self._file is None:
                self._file = temporary_file()
            while len(part) >= PART_PHONES:
                self._offsets[number].append(self._file.tell())
                self._file.write(part[:PART_PHONES].tobytes())
                del part[:PART_PHONES]

    def _count_part(self, number: int) -> int:
        seen = set(self._parts[number])
        phones = len(self._parts[number])
        for offset in self._offsets[number]:
            written = array("q")
            with temporary_file_errors(FAILURE):
                assert self._file is not None
                self._file.seek(offset)
                written.frombytes(self._file.read(PART_PHONES * written.itemsize))
            seen.update(written)
            phones += len(written)
        return phones - len(seen)
