"""Says whether a file is still the one that was looked at first: what is read of two versions is neither."""

from __future__ import annotations

import os
from io import BufferedReader

from campaigns.audience.encoding import UnreadableAudience


class ChangeCheck:
    """An open file as it was when this was made: before its first byte is read.

    By size and time of writing. A file that another one was moved over is still the one that is open.
    """

    def __init__(self, file: BufferedReader, name: str) -> None:
        self._file = file
        self._name = name
        self._before = self._now()

    def require_unchanged(self) -> None:
        """UnreadableAudience where somebody has written to it meanwhile."""
        if self._now() != self._before:
            raise UnreadableAudience(
                "the file changed while it was read", where=self._name, remedy="try again once it is complete"
            )

    def _now(self) -> tuple[int, int]:
        found = os.fstat(self._file.fileno())
        return found.st_size, found.st_mtime_ns
