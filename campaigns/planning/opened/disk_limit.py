"""A limit that stops planning while the disk of the database still has enough space for sending."""

from contextlib import suppress
from dataclasses import replace

from drumbeat.campaigns.progress import PlanProgress, ProgressCallback
from drumbeat.engine.clock import SECOND_NS
from drumbeat.engine.errors import TryLater
from drumbeat.engine.process.disk_space import Disk, DiskSpaceProbe

# At 500,000 rows per second, table and write-ahead log grow by 40 MiB in this time.
CHECK_PERIOD_NS = SECOND_NS // 4
# Planning stops at this multiple of the free space that sending needs, so that it never stops a sender.
RESERVE = 2


def stop_when_disk_is_short(disk: Disk | None, progress: ProgressCallback) -> ProgressCallback:
    """Return a progress callback that raises TryLater when the disk is short of space.

    If planning filled the disk, the database would stop, and all sending with it.
    """
    if disk is None:
        return progress
    least_mib = RESERVE * disk.least_free_mib
    space = DiskSpaceProbe(replace(disk, least_free_mib=least_mib), CHECK_PERIOD_NS)

    def check_and_report(seen: PlanProgress) -> None:
        with suppress(OSError):  # if the free space cannot be read, the database reports a full disk itself
            if space.is_short():
                raise TryLater(
                    f"planning needs at least {least_mib:,} MiB of free space for the database",
                    where=str(disk.directory),
                    remedy="free some space and repeat the command, which removes the unfinished plan",
                )
        progress(seen)

    return check_and_report
