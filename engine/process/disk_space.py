"""The check of the free space of the disk that holds the embedded database, once in a period."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from drumbeat.engine.clock import SECOND_NS, monotonic_ns
from drumbeat.engine.core.disk_space import MIB, is_short
from drumbeat.engine.process.event_log import get_logger
from drumbeat.engine.process.throttled_log import ThrottledLog

# At 5,000/s, sending fills 20 MiB in this time, which is little compared with what must stay free.
CHECK_PERIOD_NS = 4 * SECOND_NS

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Disk:
    """The directory of the database's data on this machine, and how much must stay free there."""

    directory: Path
    least_free_mib: int


def free_bytes(directory: Path) -> int:
    """Return the bytes that the directory's file system can still take. Raises OSError if it cannot tell."""
    return shutil.disk_usage(directory).free


class DiskSpaceProbe:
    """A probe that says whether a disk is short of space. It looks at most once in `period_ns`."""

    def __init__(self, disk: Disk, period_ns: int) -> None:
        self.disk = disk
        self._period_ns = period_ns
        self._read_ns = -period_ns
        self._short = False
        self.free_bytes = 0  # as last read

    def is_short(self) -> bool:
        """Return whether the disk is short of space. Raises OSError if the free space cannot be read.

        After such an error, the former answer holds until the next period.
        """
        if (now_ns := monotonic_ns()) - self._read_ns >= self._period_ns:
            self._read_ns = now_ns
            self.free_bytes = free_bytes(self.disk.directory)
            self._short = is_short(self.free_bytes, self.disk.least_free_mib * MIB, was_short=self._short)
        return self._short


class DiskSpaceGuard:
    """A guard that blocks claims while the database's disk is short of space. Without a
    disk it never does.
    """

    def __init__(self, disk: Disk | None) -> None:
        self._probe = None if disk is None else DiskSpaceProbe(disk, CHECK_PERIOD_NS)
        self._is_short = False
        self._not_read = ThrottledLog("disk_not_read", "disk_read_again")

    @property
    def disk(self) -> Disk | None:
        return None if self._probe is None else self._probe.disk

    @property
    def free_bytes(self) -> int:
        """Return the free space as last read."""
        return 0 if self._probe is None else self._probe.free_bytes

    def blocked_reason(self) -> str:
        """Return why nothing may be claimed now; empty if nothing blocks. It is called before every claim."""
        if self._probe is None:
            return ""
        self._check(self._probe)
        if not self._is_short:
            return ""
        disk = self._probe.disk
        return f"less than {disk.least_free_mib} MiB are free for the database in {disk.directory}"

    def _check(self, probe: DiskSpaceProbe) -> None:
        try:
            short = probe.is_short()
        except OSError as problem:  # no reason to stop: the database itself reports a full disk
            self._not_read.report(directory=str(probe.disk.directory), problem=str(problem)[:200])
            return
        self._not_read.check_quiet(2 * CHECK_PERIOD_NS)  # the disk is read only once in a period
        if short != self._is_short:
            self._is_short = short
            write = log.warning if short else log.info
            effect = "sending stops" if short else "sending continues"
            event = "disk_space_ran_short" if short else "disk_space_recovered"
            write(event, free_mib=probe.free_bytes // MIB, effect=effect)
