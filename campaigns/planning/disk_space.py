"""Ends a planning while the disk of the embedded database still has room to go on sending."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from campaigns.planning.progress import PlanProgress, ProgressCallback
from engine.clock import SECOND_NS
from engine.errors import TryLater
from engine.process.disk_space import Disk, DiskSpaceProbe

# Half a million rows a second, in table and log, are 40 MiB in this time.
LOOK_PERIOD_NS = SECOND_NS // 4
# Factor on what must be free for sending: a plan that is too large stops nobody else.
RESERVE = 2


def while_there_is_room(disk: Disk | None, progress: ProgressCallback) -> ProgressCallback:
    """`progress`, which ends the planning by TryLater where the disk is too full to go on.

    A planning that filled it would take the database down, and all sending with it.
    """
    if disk is None:
        return progress
    least_mib = RESERVE * disk.least_free_mib
    look = DiskSpaceProbe(replace(disk, least_free_mib=least_mib), LOOK_PERIOD_NS)

    def told(seen: PlanProgress) -> None:
        with suppress(OSError):  # what cannot be looked at stops nobody: the database will say
            if look.is_short():
                raise TryLater(
                    f"nothing is planned with less than {least_mib:,} MiB free for the database",
                    where=str(disk.directory),
                    remedy="make room, then give the same command again; it removes the unfinished plan",
                )
        progress(seen)

    return told
