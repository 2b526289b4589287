"""A test of whether a file changed while it was read."""

import os
from io import BufferedReader

from drumbeat.engine.errors import NotReady


class ChangeCheck:
    """A memory of the size and modification time of an open file. Create it before the first byte is read.

    If another file was moved over it, the open file is unchanged.
    """

    def __init__(self, file: BufferedReader, name: str) -> None:
        self._file = file
        self._name = name
        self._before = self._now()

    def require_unchanged(self) -> None:
        """Raise NotReady if the file was written to since."""
        if self._now() != self._before:
            raise NotReady(
                "the file changed while it was read", where=self._name, remedy="try again once it is complete"
            )

    def _now(self) -> tuple[int, int]:
        found = os.fstat(self._file.fileno())
        return found.st_size, found.st_mtime_ns
