"""The benchmark of the database: what does a message cost in WAL, rows, commits, CPU and disk?

    python -m drumbeat.benchmarks.wal [MESSAGES] [--events] [--numbers 32] [--rate 1000] [--often]

Sends MESSAGES with the engine and prints what the server counted, for each message. Planning is measured
first by itself, and taken off the run, which plans the same recipients again. With --events three status
events a message come back and are stored and applied meanwhile. --often begins a checkpoint every 30 seconds
instead of every 15 minutes: the first change of a page after a checkpoint writes the whole page to the WAL.
Bytes and rows do not depend on the load of the machine; CPU does.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import asyncpg

from drumbeat.benchmarks.harness.database import Database, postgres
from drumbeat.benchmarks.harness.machine import move_to_service_core
from drumbeat.benchmarks.harness.results import Load, Run
from drumbeat.benchmarks.harness.script import add_count, count, parser_of, print_conditions, run_script
from drumbeat.benchmarks.harness.seeding import SEED_S_MAX, seed_campaign
from drumbeat.benchmarks.harness.statements import SQL
from drumbeat.benchmarks.harness.testbed import Testbed
from drumbeat.benchmarks.senders.runs import run_engine
from drumbeat.engine.store.database import connect

COUNTERS = ("wal_bytes", "page_images", "commits", "inserted", "updated", "deleted")


@dataclass(frozen=True, slots=True)
class Counted:
    """The counts of the server since its start."""

    wal_bytes: int
    page_images: int
    commits: int
    inserted: int
    updated: int
    deleted: int

    def since(self, before: Counted) -> Counted:
        return Counted(*(getattr(self, name) - getattr(before, name) for name in COUNTERS))


async def fetch(url: str, statement: str, *arguments: object) -> list[asyncpg.Record]:
    connection = await connect(url, command_timeout_s=SEED_S_MAX)
    try:
        return list(await connection.fetch(SQL[statement], *arguments))
    finally:
        await connection.close()


def read_counters(database: Database) -> Counted:
    asyncio.run(asyncio.sleep(1.5))  # sessions report what they counted within a second
    (row,) = asyncio.run(fetch(database.url, "counters"))
    return Counted(**dict(row))


def plan(database: Database, load: Load) -> Counted:
    """Return the cost of planning the load's recipients, without any message."""
    before = read_counters(database)
    rates = {str(number): load.rate_per_s for number in range(load.numbers)}
    asyncio.run(seed_campaign(database.url, rates, load.recipients))
    return read_counters(database).since(before)


def send(database: Database, load: Load, planned: Counted) -> tuple[Run, Counted]:
    """Return the run, and its cost beyond the planning."""
    before = read_counters(database)
    run = run_engine(Testbed(database), load)
    return run, read_counters(database).since(before).since(planned)


def print_costs(title: str, cost: Counted, messages: int) -> None:
    each = "  ".join(f"{name} {getattr(cost, name) / messages:.3f}" for name in COUNTERS)
    print(f"{title:10}{each}")


def print_sizes(database: Database, messages: int) -> None:
    for row in asyncio.run(fetch(database.url, "sizes")):
        print(f"{row['name']:45}{row['bytes'] / messages:>8.1f} MB a million messages")


def main() -> None:
    parser = parser_of(__doc__)
    add_count(parser, "messages", 300_000)
    parser.add_argument("--numbers", type=count, default=32)
    parser.add_argument("--rate", type=float, default=1_000.0, help="limit of each number, messages a second")
    parser.add_argument("--events", action="store_true", help="three status events a message")
    parser.add_argument("--often", action="store_true", help="a checkpoint every 30 s")
    options = parser.parse_args()
    print_conditions()
    move_to_service_core()
    load = Load(
        options.numbers,
        options.rate,
        messages=options.messages,
        events=options.events,
        limited=False,
        timed=False,
    )
    with postgres() as database:
        if options.often:
            asyncio.run(fetch(database.url, "checkpoint_often"))
            asyncio.run(fetch(database.url, "reload"))
        planned = plan(database, load)
        run, cost = send(database, load, planned)
        rate = f"{run.messages:,} messages at {run.per_s:,.0f}/s"
        print(f"{rate}; Postgres used {run.database_us:.1f} µs a message")
        print_costs("planning", planned, run.messages)
        print_costs("sending", cost, run.messages)
        print_sizes(database, run.messages)


if __name__ == "__main__":
    run_script(main)
