"""`drumbeat campaign run` as a person starts it, in a process of its own, against the bench's own service."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

import psutil

from campaigns.bench.database import Database
from campaigns.bench.machine import sender_cores
from campaigns.bench.processes import BenchFailed, Process, last_line, started
from campaigns.bench.service import Service

__all__ = ["IMPORT", "RUN", "first_arrival_s", "running"]

IMPORT = "import campaigns.cli.main as main; main.import_log(); import campaigns.cli.run"
RUN = ("-m", "campaigns.cli", "campaign", "run", "bench", "--quiet")
ARRIVAL_S_MAX = 30.0
ASK_PERIOD_S = 0.005


@contextmanager
def running(database: Database, service: Service, errors: IO[bytes], *options: str) -> Iterator[Process]:
    """The command on the sender's core while the block runs; what it says goes to `errors`."""
    settings = {
        "home": str(database.home),
        "base_url": service.url,
        "access_token": service.token,
        "api_version": service.version,
        "product": service.product,
    }
    with started([*RUN, *options], stderr=errors, settings=settings) as process:
        psutil.Process(process.pid).cpu_affinity(sender_cores())
        yield process


def first_arrival_s(service: Service, before: int, process: Process, errors: IO[bytes]) -> float:
    """When the message after the first `before` arrived at the service, on this machine's monotonic clock.

    BenchFailed where the process ends before, or none comes within half a minute.
    """
    deadline_s = time.monotonic() + ARRIVAL_S_MAX
    while service.accepted() <= before:
        if process.poll() is not None or time.monotonic() > deadline_s:
            raise BenchFailed(f"no message arrived: {last_line(errors)}")
        time.sleep(ASK_PERIOD_S)
    (message,) = service.control.get(f"ledger?after={before}&limit=1")["messages"]
    return float(message["received_at_ns"]) / 1e9
