"""The command `drumbeat campaign run` as a user starts it, in a process of its own, against the benchmark's
emulator.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

import psutil

from drumbeat.benchmarks.harness.database import Database
from drumbeat.benchmarks.harness.emulators import MeasuredEmulator
from drumbeat.benchmarks.harness.machine import sender_cores
from drumbeat.benchmarks.harness.processes import BenchmarkFailed, Process, last_line, started

IMPORT = "import drumbeat.campaigns.cli.main as main; main.import_log(); import drumbeat.campaigns.cli.run"
RUN = ("-m", "drumbeat.campaigns.cli", "campaign", "run", "bench", "--quiet")
ARRIVAL_S_MAX = 30.0
POLL_PERIOD_S = 0.005


@contextmanager
def running(
    database: Database, emulator: MeasuredEmulator, errors: IO[bytes], *options: str
) -> Iterator[Process]:
    """Run the command on the sender's core during the block; its stderr goes to `errors`."""
    settings = {
        "home": str(database.home),
        "base_url": emulator.url,
        "access_token": emulator.token,
        "api_version": emulator.version,
        "product": emulator.product,
    }
    with started([*RUN, *options], stderr=errors, settings=settings) as process:
        psutil.Process(process.pid).cpu_affinity(sender_cores())
        yield process


def first_arrival_s(emulator: MeasuredEmulator, before: int, process: Process, errors: IO[bytes]) -> float:
    """Return when message number `before` + 1 arrived at the emulator, on this machine's monotonic clock.

    BenchmarkFailed if the process ends first, or if no message arrives within half a minute.
    """
    deadline_s = time.monotonic() + ARRIVAL_S_MAX
    while emulator.accepted() <= before:
        if process.poll() is not None or time.monotonic() > deadline_s:
            raise BenchmarkFailed(f"no message arrived: {last_line(errors)}")
        time.sleep(POLL_PERIOD_S)
    (message,) = emulator.control.get(f"ledger?after={before}&limit=1")["messages"]
    return float(message["received_at_ns"]) / 1e9
