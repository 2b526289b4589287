"""How much memory does a run take, and does it grow with the audience or with the open requests?

    python -m benchmarks.memory [ROWS]

The real command sends for some seconds, and the most that it held is printed: memory of its own (private
pages, which would be free if it ended) and resident memory, which counts libraries that others map too; both
from /proc/PID/smaps_rollup, so Linux only. First over open requests: the service answers after a second, so
that a rate of 1,000/s keeps 1,000 open. Then over audiences of 10,000 to ROWS recipients. The yardstick is an
interpreter that has imported the command and does nothing.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

from benchmarks.command import IMPORT, first_arrival_s, running
from benchmarks.cost import print_conditions
from benchmarks.ending import counts, perform
from campaigns.bench.database import Database, postgres
from campaigns.bench.machine import service_core
from campaigns.bench.planting import plant
from campaigns.bench.service import Service, Wanted, own_service

AUDIENCES = (10_000, 100_000, 1_000_000, 10_000_000)
# (numbers, limit a number and second) with a second of latency: so many requests are open.
OPEN = ((1, 100.0), (1, 1_000.0), (2, 1_000.0), (4, 1_000.0))
LATENCY_MS = 1_000.0
WATCHED_S = 8.0
LOOK_PERIOD_S = 0.25
IDLE = f"{IMPORT}; import sys; print(flush=True); sys.stdin.read()"


@dataclass(frozen=True, slots=True)
class Seen:
    """Of a process: bytes of its own, resident bytes, and connections to the service."""

    own_bytes: int
    resident_bytes: int
    connections: int = 0

    def or_more(self, other: Seen) -> Seen:
        return Seen(
            max(self.own_bytes, other.own_bytes),
            max(self.resident_bytes, other.resident_bytes),
            max(self.connections, other.connections),
        )


def memory(pid: int) -> Seen:
    """What a process holds now."""
    lines = [line.split() for line in Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines()[1:]]
    sizes = {words[0]: int(words[1]) * 1024 for words in lines}
    return Seen(sum(size for name, size in sizes.items() if name.startswith("Private_")), sizes["Rss:"])


def imported() -> Seen:
    """An interpreter that has imported the command."""
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", IDLE], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        return memory(process.pid)


def measured(database: Database, recipients: int, wanted: Wanted) -> Seen:
    """Send for a while and look on."""
    with own_service(wanted) as service, tempfile.TemporaryFile() as errors:
        asyncio.run(plant(database.url, dict.fromkeys(service.numbers, wanted.rate_per_s), recipients))
        with running(database, service, errors) as process:
            first_arrival_s(service, 0, process, errors)
            return _watched(process.pid, service)


def _watched(pid: int, service: Service) -> Seen:
    process, port = psutil.Process(pid), int(service.url.rpartition(":")[2])
    seen, until_s = Seen(0, 0), time.monotonic() + WATCHED_S
    while time.monotonic() < until_s:
        connections = [one for one in process.net_connections("tcp") if one.raddr and one.raddr.port == port]
        seen = seen.or_more(replace(memory(pid), connections=len(connections)))
        time.sleep(LOOK_PERIOD_S)
    return seen


def print_row(name: str, seen: Seen, idle: Seen, further: str = "") -> None:
    own, resident = seen.own_bytes / 2**20, seen.resident_bytes / 2**20
    times = seen.own_bytes / idle.own_bytes
    print(
        f"{name:>26}{seen.connections:>13,}{own:>9.1f} MiB{resident:>9.1f} MiB{times:>7.2f} ×{further}",
        flush=True,
    )


def over_audiences(database: Database, largest: int, idle: Seen) -> None:
    for size in AUDIENCES:
        if size <= largest:
            print_row(f"{size:,} recipients", measured(database, size, Wanted(4, 250.0, 5.0)), idle)


def over_open_requests(database: Database, idle: Seen) -> None:
    former: Seen | None = None
    for numbers, rate_per_s in OPEN:
        recipients = int(numbers * rate_per_s * 3 * WATCHED_S)
        seen = measured(database, recipients, Wanted(numbers, rate_per_s, LATENCY_MS))
        further = ""
        if former is not None and seen.connections > former.connections:
            each = (seen.own_bytes - former.own_bytes) / (seen.connections - former.connections)
            further = f"{each / 1024:>8.1f} KiB a further connection"
        print_row(f"{numbers} x {rate_per_s:,.0f}/s x 1 s", seen, idle, further)
        former = seen


def main() -> None:
    (largest,) = counts(__doc__, rows=1_000_000)
    print_conditions()
    service_core()
    idle = imported()
    print(f"{'':26}{'connections':>13}{'its own':>13}{'resident':>13}{'its own':>9}")
    print_row("imported, nothing sent", idle, idle)
    with postgres() as database:
        over_open_requests(database, idle)
        over_audiences(database, largest, idle)


if __name__ == "__main__":
    perform(main)
