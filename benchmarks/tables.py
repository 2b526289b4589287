"""The benchmark of tables: do they stay in shape while a large campaign is sent, or do they bloat?

    python -m drumbeat.benchmarks.tables [MESSAGES] [--events]

Sends MESSAGES with the engine at full speed and prints the statistics of each table that was written: live
and dead rows, updates and how many of them stayed in their page (HOT), vacuums, sizes with indexes. The
baseline is the same table after VACUUM FULL. It also prints what kept VACUUM from removing dead rows (the
oldest transaction, the oldest snapshot) and what a message cost the engine in each tenth of the campaign, as
a multiple of the first tenth. With --events three status events a message come back and are applied
meanwhile.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from itertools import pairwise

import asyncpg

from drumbeat.benchmarks.harness.database import Database, postgres
from drumbeat.benchmarks.harness.machine import move_to_service_core
from drumbeat.benchmarks.harness.results import Load
from drumbeat.benchmarks.harness.script import add_count, parser_of, print_conditions, run_script
from drumbeat.benchmarks.harness.seeding import SEED_S_MAX
from drumbeat.benchmarks.harness.statements import SQL
from drumbeat.benchmarks.harness.testbed import Testbed
from drumbeat.benchmarks.senders.runs import run_engine
from drumbeat.engine.store.database import connect

LOAD = Load(numbers=32, rate_per_s=1_000.0, limited=False, timed=False)
QUERY_PERIOD_S = 2.0


@dataclass(slots=True)
class Horizon:
    """The limits that kept VACUUM back: the oldest transaction in seconds, the oldest snapshot in later
    transactions.

    `course`: at each query, the messages so far and the engine's CPU seconds for them.
    """

    url: str
    transaction_s: float = 0.0
    snapshot: int = 0
    queried_s: float = 0.0
    course: list[tuple[int, float]] = field(default_factory=list)

    def query(self, now_s: float, _: float | None) -> None:
        if now_s - self.queried_s >= QUERY_PERIOD_S:
            self.queried_s = now_s
            (row,) = asyncio.run(ask(self.url, "horizon"))
            self.transaction_s = max(self.transaction_s, row["transaction_s"])
            self.snapshot = max(self.snapshot, row["snapshot"])
            self.course.append((row["messages"], row["cpu_s"]))


async def ask(url: str, statement: str) -> list[asyncpg.Record]:
    connection = await connect(url, command_timeout_s=SEED_S_MAX)
    try:
        return list(await connection.fetch(SQL[statement]))
    finally:
        await connection.close()


def by_tenths(course: list[tuple[int, float]], messages: int) -> list[float]:
    """Return the CPU microseconds of a message in each tenth of the campaign, by the queries nearest to its
    ends.

    Too few queries make fewer parts.
    """
    if not course:
        return []
    ends = [min(course, key=lambda seen: abs(seen[0] - messages * tenth / 10)) for tenth in range(11)]
    return [
        (cpu_s - began_cpu_s) / (sent - began) * 1e6
        for (began, began_cpu_s), (sent, cpu_s) in pairwise(ends)
        if sent > began
    ]


def mebibytes(size: int) -> str:
    return f"{size / 2**20:,.1f}"


def print_tables(database: Database) -> None:
    before = asyncio.run(ask(database.url, "tables"))
    asyncio.run(ask(database.url, "rewrite"))
    least = {row["name"]: row["bytes"] for row in asyncio.run(ask(database.url, "tables"))}
    print(
        f"{'table':22}{'live':>11}{'dead':>9}{'updates':>11}{'HOT':>7}{'vacuums':>9}{'MiB':>9}{'rewritten':>11}"
    )
    for row in before:
        hot = f"{row['hot'] / row['updates']:.0%}" if row["updates"] else "-"
        times = row["bytes"] / max(1, least[row["name"]])
        print(
            f"{row['name']:22}{row['live']:>11,}{row['dead']:>9,}{row['updates']:>11,}{hot:>7}"
            f"{row['vacuums']:>9}{mebibytes(row['bytes']):>9}{times:>9.2f} ×"
        )


def main() -> None:
    parser = parser_of(__doc__)
    add_count(parser, "messages", 1_000_000)
    parser.add_argument("--events", action="store_true", help="three status events a message")
    options = parser.parse_args()
    print_conditions()
    move_to_service_core()
    with postgres() as database:
        horizon = Horizon(database.url)
        load = replace(LOAD, messages=options.messages, events=options.events)
        run = run_engine(Testbed(database, on_progress=horizon.query), load)
        print(f"{run.messages:,} messages, {run.per_s:,.0f}/s, CPU {run.cpu_us:.1f} µs a message")
        print(
            f"oldest transaction {horizon.transaction_s:.2f} s, "
            f"oldest snapshot {horizon.snapshot:,} transactions back"
        )
        if tenths := by_tenths(horizon.course, run.messages):
            print(
                f"CPU by tenths, times the first's {tenths[0]:.1f} µs:",
                *(f"{cost_us / tenths[0]:.2f}" for cost_us in tenths),
            )
        print_tables(database)


if __name__ == "__main__":
    run_script(main)
