"""Does a message cost the same, however long the campaign, however many numbers and processes?

    python -m benchmarks.scaling [--largest 1000000] [--repeats 3] [--only audiences|numbers|processes]

CPU of the sending processes for each message, median of the repeats: over the audience (10 thousand to
`--largest` recipients planned, some 9,000 of them sent), over numbers that share a fixed total rate, and over
processes with a fixed rate each. The yardstick is the first row of each table. A row that does not reach its
rate says so.
"""

from __future__ import annotations

import statistics

from benchmarks.cost import print_conditions
from benchmarks.ending import count, parser_of, perform
from campaigns.bench.database import Database, postgres
from campaigns.bench.machine import service_core
from campaigns.bench.rounds import Load, Place, Run, run_engine
from campaigns.bench.scaling import SMALL_PER_S, TABLES, load_of, loads, reaches, service_share
from campaigns.bench.service import own_service

ONCE_FROM = 10_000_000  # recipients whose planting takes a minute: one measurement must do
SMALLEST = min(load.recipients for load in TABLES["audiences"].values())
PROCESSES_MAX = max(load.processes for load in TABLES["processes"].values())


def print_table(database: Database, rows: dict[str, Load], repeats: int) -> None:
    """A row for each load, as a multiple of the first. Measured in rounds: the machine's speed changes."""
    runs: dict[str, list[Run]] = {name: [] for name in rows}
    for turn in range(repeats):
        for name, load in rows.items():
            if turn == 0 or load.recipients < ONCE_FROM:
                runs[name].append(run_engine(Place(database, own_service), load))
    first_us = cost_us(next(iter(runs.values())))
    for name, load in rows.items():
        costs_us = [run.cpu_us for run in runs[name]]
        per_s = statistics.median(run.per_s for run in runs[name])
        busy = statistics.median(service_share(run) for run in runs[name])
        short = "" if reaches(load, per_s) else f", asked for {load.total_per_s:,.0f}/s"
        print(
            f"{name:>21}{cost_us(runs[name]):>8.1f} µs a message ({min(costs_us):.1f} – {max(costs_us):.1f})"
            f"{cost_us(runs[name]) / first_us:>7.2f} ×{per_s:>9,.0f}/s"
            f"{busy:>7.0%} of the service's core{short}",
            flush=True,
        )


def cost_us(runs: list[Run]) -> float:
    return statistics.median(run.cpu_us for run in runs)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--largest", type=count, default=1_000_000, help="audience")
    parser.add_argument("--repeats", type=count, default=3, help="of each row; its median is printed")
    parser.add_argument("--only", choices=TABLES, help="one of the three tables")
    asked = parser.parse_args()
    if not loads("audiences", asked.largest):
        parser.error(f"--largest is at least {SMALLEST:,}")
    print_conditions(PROCESSES_MAX)
    service_core()
    with postgres() as database:
        run_engine(Place(database, own_service), load_of(4, SMALL_PER_S))  # of a new server: not counted
        for name in [asked.only] if asked.only else TABLES:
            print_table(database, loads(name, asked.largest), asked.repeats)


if __name__ == "__main__":
    perform(main)
