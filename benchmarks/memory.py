"""The benchmark of memory: how much does a run take, and does it grow with the audience or the in-flight
requests?

    python -m drumbeat.benchmarks.memory [ROWS]

The real command sends for some seconds; the largest values seen are printed: private memory (its own pages,
which are free once it ends) and resident memory, which includes libraries that other processes share. Both
are from /proc/PID/smaps_rollup, so Linux only. The first table is over in-flight requests: the emulator
answers after a second, so that 1,000/s keep 1,000 in flight. The second is over audiences of 10,000 to ROWS
recipients. The baseline is an interpreter that has imported the command and does nothing.
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

from drumbeat.benchmarks.harness.campaign_command import IMPORT, first_arrival_s, running
from drumbeat.benchmarks.harness.database import Database, postgres
from drumbeat.benchmarks.harness.emulators import EmulatorSpec, MeasuredEmulator, own_emulator
from drumbeat.benchmarks.harness.machine import move_to_service_core
from drumbeat.benchmarks.harness.script import counts, print_conditions, run_script
from drumbeat.benchmarks.harness.seeding import seed_campaign

AUDIENCES = (10_000, 100_000, 1_000_000, 10_000_000)
# (numbers, limit of each a second); with a second of latency as many requests are open as are sent a second.
LOADS = ((1, 100.0), (1, 1_000.0), (2, 1_000.0), (4, 1_000.0))
LATENCY_MS = 1_000.0
WATCHED_S = 8.0
POLL_PERIOD_S = 0.25
IDLE = f"{IMPORT}; import sys; print(flush=True); sys.stdin.read()"


@dataclass(frozen=True, slots=True)
class Usage:
    """The usage of a process: private bytes, resident bytes, and connections to the emulator."""

    private_bytes: int
    resident_bytes: int
    connections: int = 0

    def maximum(self, other: Usage) -> Usage:
        return Usage(
            max(self.private_bytes, other.private_bytes),
            max(self.resident_bytes, other.resident_bytes),
            max(self.connections, other.connections),
        )


def memory(pid: int) -> Usage:
    """Return the memory of a process now."""
    lines = [line.split() for line in Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines()[1:]]
    sizes = {fields[0]: int(fields[1]) * 1024 for fields in lines}
    return Usage(sum(size for name, size in sizes.items() if name.startswith("Private_")), sizes["Rss:"])


def imported() -> Usage:
    """Return the usage of an interpreter that has imported the command."""
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", IDLE], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        return memory(process.pid)


def measured(database: Database, recipients: int, spec: EmulatorSpec) -> Usage:
    """Return the largest usage while a campaign is sent."""
    with own_emulator(spec) as emulator, tempfile.TemporaryFile() as errors:
        asyncio.run(seed_campaign(database.url, dict.fromkeys(emulator.numbers, spec.rate_per_s), recipients))
        with running(database, emulator, errors) as process:
            first_arrival_s(emulator, 0, process, errors)
            return _watched(process.pid, emulator)


def _watched(pid: int, emulator: MeasuredEmulator) -> Usage:
    process, port = psutil.Process(pid), int(emulator.url.rpartition(":")[2])
    largest, until_s = Usage(0, 0), time.monotonic() + WATCHED_S
    while time.monotonic() < until_s:
        connections = [
            connection
            for connection in process.net_connections("tcp")
            if connection.raddr and connection.raddr.port == port
        ]
        largest = largest.maximum(replace(memory(pid), connections=len(connections)))
        time.sleep(POLL_PERIOD_S)
    return largest


def print_row(name: str, usage: Usage, idle: Usage, further: str = "") -> None:
    private, resident = usage.private_bytes / 2**20, usage.resident_bytes / 2**20
    times = usage.private_bytes / idle.private_bytes
    print(
        f"{name:>26}{usage.connections:>13,}{private:>9.1f} MiB{resident:>9.1f} MiB{times:>7.2f} ×{further}",
        flush=True,
    )


def over_audiences(database: Database, largest: int, idle: Usage) -> None:
    for size in AUDIENCES:
        if size <= largest:
            print_row(f"{size:,} recipients", measured(database, size, EmulatorSpec(4, 250.0, 5.0)), idle)


def over_in_flight_requests(database: Database, idle: Usage) -> None:
    last: Usage | None = None
    for numbers, rate_per_s in LOADS:
        recipients = int(numbers * rate_per_s * 3 * WATCHED_S)
        usage = measured(database, recipients, EmulatorSpec(numbers, rate_per_s, LATENCY_MS))
        further = ""
        if last is not None and usage.connections > last.connections:
            each = (usage.private_bytes - last.private_bytes) / (usage.connections - last.connections)
            further = f"{each / 1024:>8.1f} KiB a further connection"
        print_row(f"{numbers} x {rate_per_s:,.0f}/s x 1 s", usage, idle, further)
        last = usage


def main() -> None:
    (largest,) = counts(__doc__, rows=1_000_000)
    print_conditions()
    move_to_service_core()
    idle = imported()
    print(f"{'':26}{'connections':>13}{'private':>13}{'resident':>13}{'private':>9}")
    print_row("imported, nothing sent", idle, idle)
    with postgres() as database:
        over_in_flight_requests(database, idle)
        over_audiences(database, largest, idle)


if __name__ == "__main__":
    run_script(main)
