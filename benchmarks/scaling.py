"""The benchmark of scaling: does a message cost the same however many recipients, numbers and processes there
are?

    python -m drumbeat.benchmarks.scaling [--largest 1000000] [--repeats 3] [--only TABLE]

Prints the sender's CPU for each message, median of the repeats: over the audience (10 thousand to `--largest`
planned recipients, of which about 9,000 are sent), over numbers that share a fixed total rate, over processes
with a fixed rate each, and over processes at a service that takes 0.4 s for each reply. The baseline is the
first row of each table. A row below its rate says so. A TABLE is audiences, numbers, processes or latency.

The rates are well below what a core can carry. In a full process batches grow and a message costs less, so
that rows could not be compared.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from drumbeat.benchmarks.harness.database import postgres
from drumbeat.benchmarks.harness.machine import move_to_service_core
from drumbeat.benchmarks.harness.results import Load, Run
from drumbeat.benchmarks.harness.script import count, parser_of, print_conditions, run_script
from drumbeat.benchmarks.harness.testbed import Testbed
from drumbeat.benchmarks.senders.runs import run_engine

Table = Literal["audiences", "numbers", "processes", "latency"]

LATENCY_MS = 5.0
SENT_S = 6.0
SMALL_PER_S = 1_400.0  # the smallest audience lasts for SENT_S at this rate
TOTAL_PER_S = 2_000.0  # through 64 numbers, twice this rate fills the service's core of a small machine
PLANNED = 200_000  # so that each of 64 numbers finds ranges to the end
PROCESS_PER_S = 1_000.0
SLOW_MS, SLOW_PER_S = 400.0, 400.0  # a process has 160 requests in flight, and its core is mostly idle
REACHED_MIN = 0.95
MEASURED_ONCE_FROM = 10_000_000  # recipients that take a minute to plan


def load_of(numbers: int, total_per_s: float) -> Load:
    return Load(numbers, total_per_s / numbers, LATENCY_MS, duration_s=SENT_S, limited=False, timed=False)


TABLES: Mapping[Table, Mapping[str, Load]] = {
    "audiences": {
        f"{size:,} recipients": replace(load_of(4, SMALL_PER_S), messages=size)
        for size in (10_000, 100_000, 1_000_000, 10_000_000)
    },
    "numbers": {
        "one number" if count == 1 else f"{count} numbers": replace(
            load_of(count, TOTAL_PER_S), messages=PLANNED
        )
        for count in (1, 4, 16, 64)
    },
    "processes": {
        "one process" if count == 1 else f"{count} processes": replace(
            load_of(2 * count, PROCESS_PER_S * count), processes=count
        )
        for count in (1, 2, 4)
    },
    "latency": {
        "one process" if count == 1 else f"{count} processes": replace(
            load_of(4 * count, SLOW_PER_S * count), processes=count, latency_ms=SLOW_MS
        )
        for count in (1, 2, 3, 4)
    },
}
WARM_UP = load_of(4, SMALL_PER_S)  # the first campaign on a new server costs more; it is not counted
SMALLEST = min(load.recipients for load in TABLES["audiences"].values())
PROCESSES_MAX = max(load.processes for load in TABLES["processes"].values())


def loads(table: Table, largest: int) -> dict[str, Load]:
    """Return the rows of a table by title, with audiences up to `largest`."""
    return {title: load for title, load in TABLES[table].items() if (load.messages or 0) <= largest}


def service_share(run: Run) -> float:
    """Return the share of their common core that emulator and Postgres used. Near 1 they set the rate."""
    return ((run.service_cpu_s or 0.0) + (run.database_cpu_s or 0.0)) / run.elapsed_s


def reaches(load: Load, per_s: float) -> bool:
    """Return whether a row reached its rate. Otherwise it cannot be compared."""
    return per_s >= REACHED_MIN * load.total_per_s


def print_table(testbed: Testbed, rows: dict[str, Load], repeats: int) -> None:
    """Print each row as a multiple of the first. Repeats alternate, because the machine's speed changes."""
    runs: dict[str, list[Run]] = {title: [] for title in rows}
    for turn in range(repeats):
        for title, load in rows.items():
            if turn == 0 or load.recipients < MEASURED_ONCE_FROM:
                runs[title].append(run_engine(testbed, load))
    first_us = cost_us(next(iter(runs.values())))
    for title, load in rows.items():
        costs_us = [run.cpu_us for run in runs[title]]
        per_s = statistics.median(run.per_s for run in runs[title])
        busy = statistics.median(service_share(run) for run in runs[title])
        below = "" if reaches(load, per_s) else f", below its {load.total_per_s:,.0f}/s"
        print(
            f"{title:>21}{cost_us(runs[title]):>8.1f} µs a message"
            f" ({min(costs_us):.1f} – {max(costs_us):.1f})"
            f"{cost_us(runs[title]) / first_us:>7.2f} ×{per_s:>9,.0f}/s"
            f"{busy:>7.0%} of the service's core{below}",
            flush=True,
        )


def cost_us(runs: list[Run]) -> float:
    return statistics.median(run.cpu_us for run in runs)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--largest", type=count, default=1_000_000, help="largest audience, in recipients")
    parser.add_argument("--repeats", type=count, default=3, help="of each row; the median is printed")
    parser.add_argument("--only", choices=TABLES, help="one of the tables")
    options = parser.parse_args()
    if not loads("audiences", options.largest):
        parser.error(f"--largest is at least {SMALLEST:,}")
    print_conditions(PROCESSES_MAX)
    move_to_service_core()
    with postgres() as database:
        testbed = Testbed(database)
        run_engine(testbed, WARM_UP)
        for name in [options.only] if options.only else TABLES:
            print_table(testbed, loads(name, options.largest), options.repeats)


if __name__ == "__main__":
    run_script(main)
