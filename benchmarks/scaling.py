"""Does a message cost the same, however long the campaign, however many numbers and processes?

    python -m benchmarks.scaling [--largest 1000000] [--repeats 3] [--only audiences|numbers|processes]

CPU of the sending processes for each message, median of the repeats: over the audience (10 thousand to
`--largest` recipients planned, some 9,000 of them sent), over numbers that share a fixed total rate, and over
processes with a fixed rate each. The yardstick is the first row of each table. Rates lie well below what a
core carries: in a full process batches grow and a message costs less, so that rows could not be compared. A
row that does not reach its rate says so.
"""

from __future__ import annotations

import argparse
import statistics
from dataclasses import replace

from benchmarks.cost import print_conditions
from campaigns.bench.database import Database, postgres
from campaigns.bench.machine import service_core
from campaigns.bench.rounds import Load, Place, Run, run_engine
from campaigns.bench.service import own_service

AUDIENCES = (10_000, 100_000, 1_000_000, 10_000_000)
NUMBERS = (1, 4, 16, 64)
PROCESSES = (1, 2, 4)
SENT_S = 6.0
SMALL_PER_S = 1_400.0  # of which the smallest audience lasts for SENT_S
TOTAL_PER_S = 2_000.0  # through 64 numbers, twice as much fills the service's core of a small machine
PLANTED = 200_000  # so that each of 64 numbers finds ranges all along
PROCESS_PER_S = 1_000.0
REACHED_MIN = 0.95
ONCE_FROM = 10_000_000  # recipients whose planting takes a minute: one measurement must do


def load_of(numbers: int, total_per_s: float) -> Load:
    return Load(numbers, total_per_s / numbers, 5.0, duration_s=SENT_S, limited=False, timed=False)


TABLES = {
    "audiences": {
        f"{size:,} recipients": replace(load_of(4, SMALL_PER_S), messages=size) for size in AUDIENCES
    },
    "numbers": {
        f"{count} numbers": replace(load_of(count, TOTAL_PER_S), messages=PLANTED) for count in NUMBERS
    },
    "processes": {
        f"{count} processes": replace(load_of(2 * count, PROCESS_PER_S * count), processes=count)
        for count in PROCESSES
    },
}


def print_table(database: Database, loads: dict[str, Load], repeats: int) -> None:
    """A row for each load, as a multiple of the first. Measured in rounds: the machine's speed changes."""
    runs: dict[str, list[Run]] = {name: [] for name in loads}
    for turn in range(repeats):
        for name, load in loads.items():
            if turn == 0 or load.recipients < ONCE_FROM:
                runs[name].append(run_engine(Place(database, own_service), load))
    first_us = cost_us(next(iter(runs.values())))
    for name, load in loads.items():
        costs_us = [run.cpu_us for run in runs[name]]
        per_s = statistics.median(run.per_s for run in runs[name])
        busy = statistics.median(service_share(run) for run in runs[name])
        short = "" if per_s >= REACHED_MIN * load.total_per_s else f", asked for {load.total_per_s:,.0f}/s"
        print(
            f"{name:>21}{cost_us(runs[name]):>8.1f} µs a message ({min(costs_us):.1f} – {max(costs_us):.1f})"
            f"{cost_us(runs[name]) / first_us:>7.2f} ×{per_s:>9,.0f}/s"
            f"{busy:>7.0%} of the service's core{short}",
            flush=True,
        )


def cost_us(runs: list[Run]) -> float:
    return statistics.median(run.cpu_us for run in runs)


def service_share(run: Run) -> float:
    """What emulator and Postgres took of the core that they share; near 1 it is they who set the rate."""
    return ((run.service_cpu_s or 0.0) + (run.database_cpu_s or 0.0)) / run.elapsed_s


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scaling",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--largest", type=int, default=1_000_000, help="audience")
    parser.add_argument("--repeats", type=int, default=3, help="of each row; its median is printed")
    parser.add_argument("--only", choices=TABLES, help="one of the three tables")
    asked = parser.parse_args()
    print_conditions(max(PROCESSES))
    service_core()
    with postgres() as database:
        run_engine(Place(database, own_service), load_of(4, SMALL_PER_S))  # of a new server: not counted
        for name in [asked.only] if asked.only else TABLES:
            loads = TABLES[name]
            print_table(
                database,
                {row: load for row, load in loads.items() if (load.messages or 0) <= asked.largest},
                asked.repeats,
            )


if __name__ == "__main__":
    main()
