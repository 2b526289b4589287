"""The ids of messages (wamid). Law: no id is issued twice, not even by a restored ledger or after a reset.

The ledger that a snapshot came from may have issued further ids after the snapshot. They belong to other
messages, so a restored ledger continues with a prefix of its own.
"""

import os
from collections.abc import Sequence

WAMID_PREFIX = "wamid.HBgM"


class MessageIds:
    """An id is the prefix, and the index of the message in twelve hexadecimal digits."""

    def __init__(self) -> None:
        self.prefix = _new_prefix()
        self._first_index = 0  # of this prefix
        self._restored: list[tuple[int, str]] = []  # (first index, prefix) from a snapshot, in order

    def wamid(self, index: int) -> str:
        """Return the id of the message at `index`."""
        prefix = self.prefix if index >= self._first_index else self._restored_prefix(index)
        return "%s%012X" % (prefix, index)  # noqa: UP031  # twice as fast as an f-string's format

    def index_of(self, wamid: str, messages: int) -> int | None:
        """Return the index of a message among so many, or None for an id that this ledger did not issue."""
        try:
            index = int(wamid[-12:], 16)
        except ValueError:
            return None
        return index if 0 <= index < messages and self.wamid(index) == wamid else None

    def dump(self, messages: int) -> list[list[int | str]]:
        """Return the ids for a snapshot of so many messages."""
        ranges = [*self._restored, (self._first_index, self.prefix)]
        return [[first, prefix] for first, prefix in ranges if first < messages]

    def load(self, state: Sequence[Sequence[int | str]], messages: int) -> None:
        """Restore dumped ids. ValueError if messages have no ids. Later messages get a new prefix."""
        self._restored = [(int(first), str(prefix)) for first, prefix in state]
        if messages and (not self._restored or self._restored[0][0] != 0):
            raise ValueError("messages of the ledger have no ids")
        self.prefix, self._first_index = _new_prefix(), messages

    def _restored_prefix(self, index: int) -> str:
        return next(prefix for first, prefix in reversed(self._restored) if first <= index)


def _new_prefix() -> str:
    return WAMID_PREFIX + os.urandom(8).hex().upper()
