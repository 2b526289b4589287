"""Looks now and then at the free space of the disk that holds the embedded database."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import structlog

from engine.clock import SECOND_NS, monotonic_ns
from engine.core.room import MIB, is_short

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


class Room:
    """`shortage()` is asked before anything is claimed; without a disk to look at it never finds one."""

    def __init__(self, disk: Disk | None) -> None:
        self._disk = disk
        self._looked_ns = -LOOK_PERIOD_NS
        self._short = False

    def shortage(self) -> str:
        """Why nothing may be claimed for now, in words; empty while there is room."""
        disk = self._disk
        if disk is None:
            return ""
        if (now_ns := monotonic_ns()) - self._looked_ns >= LOOK_PERIOD_NS:
            self._looked_ns = now_ns
            self._look_at(disk)
        if not self._short:
            return ""
        return f"less than {disk.least_free_mib} MiB are free for the database in {disk.directory}"

    def _look_at(self, disk: Disk) -> None:
        try:
            free = free_bytes(disk.directory)
        except OSError as problem:  # what cannot be looked at stops nobody: the database will say
            log.warning("disk_not_read", directory=str(disk.directory), problem=str(problem)[:200])
            return
        short = is_short(free, disk.least_free_mib * MIB, was_short=self._short)
        if short != self._short:
            self._short = short
            tell = log.warning if short else log.info
            effect = "sending stops" if short else "sending goes on"
            tell("disk_short" if short else "disk_has_room", free_mib=free // MIB, effect=effect)
