"""Do the tables stay in shape while a large campaign is sent, or do they bloat?

    python -m benchmarks.tables [MESSAGES] [--events]

Sends MESSAGES with the engine at full speed and prints what Postgres counted of each table that was written:
live and dead rows, updates and how many of them stayed in their page (HOT), vacuums, sizes with indexes. The
yardstick is the same table after VACUUM FULL: how much larger is it than it has to be. Meanwhile it looks for
what would pin the horizon of VACUUM: the oldest transaction, and the oldest snapshot; and it prints what a
message of each tenth of the campaign cost the engine, as a multiple of the first tenth's. With --events three
statuses a message come back and are folded meanwhile.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from itertools import pairwise

import asyncpg

from benchmarks.cost import print_conditions
from benchmarks.ending import add_count, parser_of, perform
from campaigns.bench.database import Database, postgres
from campaigns.bench.machine import service_core
from campaigns.bench.planting import PLANT_S_MAX
from campaigns.bench.rounds import Load, Place, run_engine
from campaigns.bench.service import own_service
from engine.store.database import connect
from engine.store.queries import queries

LOAD = Load(numbers=32, rate_per_s=1_000.0, limited=False, timed=False)
LOOK_PERIOD_S = 2.0


@dataclass(slots=True)
class Horizon:
    """The oldest that was seen: a transaction in seconds, a snapshot in transactions begun since.

    `course`: the messages so far, and the CPU seconds of the engine for them, at each look.
    """

    url: str
    transaction_s: float = 0.0
    snapshot: int = 0
    looked_s: float = 0.0
    course: list[tuple[int, float]] = field(default_factory=list)

    def look(self, now_s: float, _: float) -> None:
        if now_s - self.looked_s >= LOOK_PERIOD_S:
            self.looked_s = now_s
            (row,) = asyncio.run(ask(self.url, "horizon"))
            self.transaction_s = max(self.transaction_s, row["transaction_s"])
            self.snapshot = max(self.snapshot, row["snapshot"])
            self.course.append((row["messages"], row["cpu_s"]))


async def ask(url: str, statement: str) -> list[asyncpg.Record]:
    connection = await connect(url, command_timeout_s=PLANT_S_MAX)
    try:
        return list(await connection.fetch(queries("bench")[statement]))
    finally:
        await connection.close()


def by_tenths(course: list[tuple[int, float]], messages: int) -> list[float]:
    """CPU microseconds of a message in each tenth of the campaign, by the looks nearest to its ends.

    Too few looks make fewer parts.
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
    asked = parser.parse_args()
    print_conditions()
    service_core()
    with postgres() as database:
        horizon = Horizon(database.url)
        load = replace(LOAD, messages=asked.messages, events=asked.events)
        run = run_engine(Place(database, own_service, horizon.look), load)
        print(f"{run.messages:,} messages, {run.per_s:,.0f}/s, CPU {run.cpu_us:.1f} µs a message")
        print(
            f"oldest transaction {horizon.transaction_s:.2f} s, "
            f"oldest snapshot {horizon.snapshot:,} transactions back"
        )
        if tenths := by_tenths(horizon.course, run.messages):
            print(
                f"CPU by tenths, times the first's {tenths[0]:.1f} µs:",
                *(f"{one / tenths[0]:.2f}" for one in tenths),
            )
        print_tables(database)


if __name__ == "__main__":
    perform(main)
