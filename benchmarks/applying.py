"""The benchmark of applying: how many status events a second are applied? The baseline is a bare UPDATE by
primary key.

    python -m drumbeat.benchmarks.applying [RECIPIENTS [EVENTS_A_COMMIT]]

Each recipient has three events (sent, delivered, read), out of order as in a real stream. They go from the
inbox to the counters, 1,000 in a commit by default, in batches of 10,000. There are two streams: in one a
recipient's events come close together, so that a batch often writes its row only once; in the other each
comes alone. In the same run and on the same rows, the baseline is `UPDATE ... FROM` of 10,000 keys, without
inbox, reduction and counters. Starts a temporary Postgres with fsync on.

Profile (EXPLAIN ANALYZE of each statement, perf): over four tenths of the time to find and write the rows, a
quarter to look up what is recorded, a fifth to take the events out of their groups, sort and reduce them, a
twentieth for the commit. No function stands out: each step forms and splits tuples, so fewer and narrower
steps are faster.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from drumbeat.benchmarks.harness.database import postgres
from drumbeat.benchmarks.harness.machine import cpu_s, sender_cores
from drumbeat.benchmarks.harness.processes import BenchmarkFailed
from drumbeat.benchmarks.harness.results import Stage, StageRun
from drumbeat.benchmarks.harness.script import counts, print_conditions, run_script
from drumbeat.benchmarks.harness.seeding import FIRST_PHONE, SEED_S_MAX, seed_campaign
from drumbeat.benchmarks.harness.statements import SQL
from drumbeat.benchmarks.harness.testbed import Testbed
from drumbeat.engine.core.events.records import Parsed, StatusEvent, StatusRow
from drumbeat.engine.core.pricing import pricing_code
from drumbeat.engine.core.states import EvidenceRank
from drumbeat.engine.core.tag import Tag
from drumbeat.engine.store.database import Connection, connect
from drumbeat.engine.store.inbox import EventFlow, write_together
from drumbeat.engine.store.packing import GROUP_EVENTS_MAX
from drumbeat.engine.store.status_applier import BATCH_EVENTS_MAX, apply_statuses

NUMBER = "1000"
STATUSES = (EvidenceRank.SENT, EvidenceRank.DELIVERED, EvidenceRank.READ)
DISORDER = 20_000  # an event arrives at most so many events out of order
# Events between two events of a recipient. Close together, a batch writes some rows only once.
APART = {"close together": 3_000, "each alone": 100_000}
_WAMID = "wamid.HBgNNTUxMTk4NzY1NDMyMRUCABEYEjBG"

Stream = Literal["close together", "each alone"]
_BASELINE = "bare UPDATE by primary key"
APPLY: dict[Stream, Stage] = {
    "close together": Stage("apply_close", "apply events, a recipient's close together", "events", _BASELINE),
    "each alone": Stage("apply_alone", "apply events, each alone in its batch", "events", _BASELINE),
}

BILLABLE = pricing_code({"category": "marketing", "billable": True})


@dataclass(frozen=True, slots=True)
class Key:
    """The key of a recipient, and the ordinal of its range."""

    ordinal: int
    range_id: int
    seq: int


@dataclass(frozen=True, slots=True)
class Applied:
    """The events that were applied. CPU seconds are those of this process and of its database session.

    `baseline_per_s`: rows a second of the bare UPDATE. `updates`, `hot`: rows written, and those written
    without an index entry. Sizes are those of `outcomes` with its indexes.
    """

    events: int
    elapsed_s: float
    cpu_s: float
    database_cpu_s: float
    baseline_per_s: float
    updates: float
    hot: float
    before_mb: float
    after_mb: float


def run_apply(testbed: Testbed, recipients: int, stream: Stream) -> StageRun:
    """Apply three events of each recipient, in a worker process."""
    arguments = {"recipients": recipients, "stream": stream}
    found = Applied(**testbed.run_stage("drumbeat.benchmarks.applying:measure", arguments, sender_cores()))
    return StageRun(found.events, found.elapsed_s, found.cpu_s, found.database_cpu_s, found.baseline_per_s)


def measure(url: str, recipients: int, stream: Stream, commit_events: int = GROUP_EVENTS_MAX) -> Applied:
    """Apply three events of each recipient, `commit_events` in each commit to the inbox.

    ConfigurationError unless a benchmark created the database; BenchmarkFailed if an event is lost.
    """
    return asyncio.run(_measure(url, recipients, stream, commit_events))


@dataclass(frozen=True, slots=True)
class Written:
    """The updated rows, those of them without an index entry (HOT), and the size of the table."""

    updates: float
    hot: float
    size_mb: float


async def _measure(url: str, recipients: int, stream: Stream, commit_events: int) -> Applied:
    await seed_campaign(url, {NUMBER: 1_000.0}, recipients)
    connection = await connect(url, command_timeout_s=SEED_S_MAX)
    try:
        keys = await _accept_all(connection)
        events = await _receive_all(connection, keys, APART[stream], commit_events)
        await connection.execute(SQL["reset_statistics"])
        before = await _written(connection)
        session: int = await connection.fetchval(SQL["session"])
        own_s, database_s = time.process_time(), cpu_s(session)
        applied, elapsed_s = await _apply_all(connection)
        own_s, database_s = time.process_time() - own_s, cpu_s(session) - database_s
        read = await connection.fetchval(SQL["read_in_range_counters"])
        if applied != events or read != recipients:
            raise BenchmarkFailed(
                f"{applied} of {events} events were applied; {read} of {recipients} are read"
            )
        after = await _written(connection)
        await connection.execute(SQL["reset_statuses"])
        await connection.execute(SQL["vacuum_accepted"])
        baseline_per_s = await _update_bare(connection, keys)
    finally:
        await connection.close()
    return Applied(
        applied,
        elapsed_s,
        own_s,
        database_s,
        baseline_per_s,
        after.updates,
        after.hot,
        before.size_mb,
        after.size_mb,
    )


async def _accept_all(connection: Connection) -> list[Key]:
    """Store an accepted outcome for every recipient; return their keys."""
    await connection.execute(SQL["claim_all"])
    await connection.execute(SQL["accept_all"], _WAMID)
    await connection.execute(SQL["count_accepted"])
    await connection.execute(SQL["vacuum_accepted"])
    ranges = await connection.fetch(SQL["accepted_ranges"])
    return [
        Key(row["ordinal"], row["range_id"], seq) for row in ranges for seq in range(1, row["last_seq"] + 1)
    ]


async def _receive_all(connection: Connection, keys: list[Key], apart: int, commit_events: int) -> int:
    """Commit three events for each key as the receiver does; return how many."""
    installation: str = await connection.fetchval(SQL["installation"])
    events: list[StatusRow] = [*_stream(keys, apart, installation)]
    flow = EventFlow()
    for first in range(0, len(events), commit_events):
        await write_together(connection, Parsed(events[first : first + commit_events]), flow)
    return len(events)


def _stream(keys: list[Key], apart: int, installation: str) -> Iterator[StatusEvent]:
    """Yield their events in order of arrival, with random disorder."""
    chance = random.Random(7)  # the same stream each time
    now_us = int(time.time() * 1e6)
    arrivals = [
        (3 * index + apart * step + chance.random() * DISORDER, index, status)
        for index in range(len(keys))
        for step, status in enumerate(STATUSES)
    ]
    arrivals.sort()
    for _, index, status in arrivals:
        key = keys[index]
        tag = Tag(installation, key.range_id, key.seq, 1, 1)
        yield StatusEvent(
            f"{_WAMID}{key.ordinal:06}{key.seq:06}",
            int(status),
            now_us,
            NUMBER,
            str(FIRST_PHONE),
            *tag,
            None,
            None,
            BILLABLE,
        )


async def _apply_all(connection: Connection) -> tuple[int, float]:
    """Apply all events. Return their count, and the seconds that it took."""
    began_s, applied = time.perf_counter(), 0
    while taken := (await apply_statuses(connection)).taken:
        applied += taken
    return applied, time.perf_counter() - began_s


async def _update_bare(connection: Connection, keys: list[Key]) -> float:
    """Update the rows in the same disorder. Each pass writes one status to each row. Return rows a second."""
    chance = random.Random(8)  # the same order each time
    update = SQL["update_bare"]
    shuffled = sorted(range(len(keys)), key=lambda index: index + chance.random() * DISORDER)
    began_s = time.perf_counter()
    for status in STATUSES:
        for first in range(0, len(shuffled), BATCH_EVENTS_MAX):
            batch = [keys[index] for index in shuffled[first : first + BATCH_EVENTS_MAX]]
            ids, seqs = [key.range_id for key in batch], [key.seq for key in batch]
            await connection.execute(update, ids, seqs, [int(status)] * len(batch))
    return len(STATUSES) * len(shuffled) / (time.perf_counter() - began_s)


async def _written(connection: Connection) -> Written:
    """Return the counts of rows written to `outcomes` since the last reset of the statistics, and
    its size.
    """
    await connection.execute(SQL["flush_statistics"])
    row = await connection.fetchrow(SQL["outcomes_written"])
    assert row is not None
    return Written(**row)


def print_applied(name: str, found: Applied) -> None:
    rate = found.events / found.elapsed_s
    own_us, database_us = (cpu_s / found.events * 1e6 for cpu_s in (found.cpu_s, found.database_cpu_s))
    print(f"{name}: {rate:,.0f} events/s   bare UPDATE {found.baseline_per_s:,.0f} rows/s", end="   ")
    print(f"ratio {rate / found.baseline_per_s:.2f}")
    print(f"  CPU an event: Postgres {database_us:.1f} µs, own {own_us:.1f} µs", end="   ")
    print(f"rows written an event {found.updates / found.events:.2f}, {found.hot / found.updates:.0%} HOT")
    print(f"  outcomes with their indexes: {found.before_mb:.1f} MB before, {found.after_mb:.1f} MB after")


def main() -> None:
    recipients, commit_events = counts(__doc__, recipients=100_000, events_a_commit=GROUP_EVENTS_MAX)
    print_conditions()
    with postgres() as database:
        for name in APPLY:
            print_applied(name, measure(database.url, recipients, name, commit_events))


if __name__ == "__main__":
    run_script(main)
