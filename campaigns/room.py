"""Ends a planning while the disk of the embedded database still has room to go on sending."""

from __future__ import annotations

import time

from engine.core.room import MIB, is_short
from engine.errors import TryLater
from engine.room import Disk, free_bytes

# Half a million rows a second, in table and log, are 40 MiB in this time.
LOOK_PERIOD_S = 0.25
# Times what must be free for sending: whoever plans too much stops nobody else.
RESERVE = 2


class PlanningRoom:
    """`look` is asked while a planning goes on; without a disk to look at there is always room."""

    def __init__(self, disk: Disk | None) -> None:
        self._disk = disk
        self._next_s = 0.0  # of the monotonic clock

    def look(self) -> None:
        """Raises TryLater where the disk is too full to go on; looks once in LOOK_PERIOD_S."""
        disk, now_s = self._disk, time.monotonic()
        if disk is None or now_s < self._next_s:
            return
        self._next_s = now_s + LOOK_PERIOD_S
        least_mib = RESERVE * disk.least_free_mib
        try:
            free = free_bytes(disk.directory)
        except OSError:
            return  # what cannot be looked at stops nobody: the database will say
        if is_short(free, least_mib * MIB, was_short=False):
            raise TryLater(
                f"nothing is planned with less than {least_mib:,} MiB free for the database",
                where=str(disk.directory),
                remedy="make room, then give the same command again; it removes what stands half planned",
            )
