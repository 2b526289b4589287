"""Loads by which the cost of a message is compared: over the audience, over numbers, over processes.

Rates lie well below what a core carries: in a full process batches grow and a message costs less, so that
rows could not be compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from campaigns.bench.rounds import Load, Run

Table = Literal["audiences", "numbers", "processes"]

LATENCY_MS = 5.0
SENT_S = 6.0
SMALL_PER_S = 1_400.0  # of which the smallest audience lasts for SENT_S
TOTAL_PER_S = 2_000.0  # through 64 numbers, twice as much fills the service's core of a small machine
PLANTED = 200_000  # so that each of 64 numbers finds ranges all along
PROCESS_PER_S = 1_000.0
REACHED_MIN = 0.95


def load_of(numbers: int, total_per_s: float) -> Load:
    return Load(numbers, total_per_s / numbers, LATENCY_MS, duration_s=SENT_S, limited=False, timed=False)


TABLES: Mapping[Table, Mapping[str, Load]] = {
    "audiences": {
        f"{size:,} recipients": replace(load_of(4, SMALL_PER_S), messages=size)
        for size in (10_000, 100_000, 1_000_000, 10_000_000)
    },
    "numbers": {
        "one number" if count == 1 else f"{count} numbers": replace(
            load_of(count, TOTAL_PER_S), messages=PLANTED
        )
        for count in (1, 4, 16, 64)
    },
    "processes": {
        "one process" if count == 1 else f"{count} processes": replace(
            load_of(2 * count, PROCESS_PER_S * count), processes=count
        )
        for count in (1, 2, 4)
    },
}


def loads(table: Table, largest: int) -> dict[str, Load]:
    """The rows of a table by their titles, of audiences up to `largest`."""
    return {title: load for title, load in TABLES[table].items() if (load.messages or 0) <= largest}


def service_share(run: Run) -> float:
    """What emulator and Postgres took of the core that they share; near 1 it is they who set the rate."""
    return ((run.service_cpu_s or 0.0) + (run.database_cpu_s or 0.0)) / run.elapsed_s


def reaches(load: Load, per_s: float) -> bool:
    """Whether a row went at its rate: one that did not cannot be compared."""
    return per_s >= REACHED_MIN * load.total_per_s
