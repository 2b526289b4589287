"""Looks now and then at the free space of the disk that holds the embedded database."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import structlog

from engine.clock import SECOND_NS, monotonic_ns
from engine.core.disk_space import MIB, is_short
from engine.process.throttled_log import ThrottledLog

# At 5,000/s this many seconds fill 20 MiB: small against what must be free.
LOOK_PERIOD_NS = 4 * SECOND_NS

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Disk:
    """Where the database keeps its data on this machine, and how much must stay free there."""

    directory: Path
    least_free_mib: int


def free_bytes(directory: Path) -> int:
    """What may still be written to the directory's file system. OSError where it cannot be told."""
    return shutil.disk_usage(directory).free


class DiskSpaceProbe:
    """Whether a disk is short of room, looked at once in `period_ns`."""

    def __init__(self, disk: Disk, period_ns: int) -> None:
        self.disk = disk
        self._period_ns = period_ns
        self._looked_ns = -period_ns
        self._short = False
        self.free_bytes = 0  # at the last look

    def is_short(self) -> bool:
        """OSError where it cannot be told; until the next look it is as it was, then."""
        if (now_ns := monotonic_ns()) - self._looked_ns >= self._period_ns:
            self._looked_ns = now_ns
            self.free_bytes = free_bytes(self.disk.directory)
            self._short = is_short(self.free_bytes, self.disk.least_free_mib * MIB, was_short=self._short)
        return self._short


class DiskSpaceGuard:
    """`blocked_reason()` is asked before anything is claimed; without a disk to look at it never finds one."""

    def __init__(self, disk: Disk | None) -> None:
        self._look = None if disk is None else DiskSpaceProbe(disk, LOOK_PERIOD_NS)
        self._told_short = False
        self._not_read = ThrottledLog("disk_not_read", "disk_read_again")

    def blocked_reason(self) -> str:
        """Why nothing may be claimed for now, in words; empty while there is room."""
        if self._look is None:
            return ""
        self._tell(self._look)
        disk = self._look.disk
        if not self._told_short:
            return ""
        return f"less than {disk.least_free_mib} MiB are free for the database in {disk.directory}"

    def _tell(self, look: DiskSpaceProbe) -> None:
        try:
            short = look.is_short()
        except OSError as problem:  # what cannot be looked at stops nobody: the database will say
            self._not_read.report(directory=str(look.disk.directory), problem=str(problem)[:200])
            return
        self._not_read.check_quiet(2 * LOOK_PERIOD_NS)  # between two looks nothing is read
        if short != self._told_short:
            self._told_short = short
            tell = log.warning if short else log.info
            effect = "sending stops" if short else "sending goes on"
            tell("disk_short" if short else "disk_has_room", free_mib=look.free_bytes // MIB, effect=effect)
