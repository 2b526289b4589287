"""Does a message cost the same, however long the campaign, however many numbers and processes?

    python -m benchmarks.scaling [LARGEST]

CPU of the sending processes for each message: over the audience (30 thousand to LARGEST recipients planned,
sent for a fixed time), over numbers that share a fixed total rate, and over processes. The yardstick is the
first row of each table. Bounded: a row takes under half a minute, besides the planting of large audiences.
"""

from __future__ import annotations

import sys
from dataclasses import replace

from benchmarks.cost import print_conditions
from campaigns.bench.database import Database, postgres
from campaigns.bench.machine import service_core
from campaigns.bench.rounds import Load, Place, Run, run_engine
from campaigns.bench.service import own_service

AUDIENCES = (30_000, 100_000, 1_000_000, 10_000_000)
NUMBERS = (1, 4, 16, 64)
PROCESSES = (1, 2, 4)
TOTAL_PER_S = 4_000.0
SENT_S = 6.0


def load_of(numbers: int, total_per_s: float = TOTAL_PER_S) -> Load:
    return Load(numbers, total_per_s / numbers, 5.0, duration_s=SENT_S, limited=False)


def table(database: Database, loads: dict[str, Load]) -> None:
    """A row for each load, as a multiple of the first."""
    first_us = 0.0
    for name, load in loads.items():
        run: Run = run_engine(Place(database, own_service), load)
        first_us = first_us or run.cpu_us
        times = f"{run.cpu_us / first_us:>5.2f} ×"
        print(f"{name:>21}  {run.cpu_us:>7.1f} µs a message  {times}  {run.per_s:>7,.0f}/s", flush=True)


def main() -> None:
    largest = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    print_conditions(max(PROCESSES))
    service_core()
    with postgres() as database:
        audiences = [size for size in AUDIENCES if size <= largest]
        table(database, {f"{size:,} recipients": replace(load_of(4), messages=size) for size in audiences})
        table(database, {f"{count} numbers": load_of(count) for count in NUMBERS})
        table(
            database,
            {
                f"{count} processes": replace(load_of(2 * count, 1_000.0 * count), processes=count)
                for count in PROCESSES
            },
        )


if __name__ == "__main__":
    main()
