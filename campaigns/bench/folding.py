"""How many status events a second become states, beside the bare UPDATE by primary key that they amount to.

Three events (sent, delivered, read) a recipient, in the disorder of a real stream, from the inbox to the
range_counters. The yardstick, on the same rows: an UPDATE of as many keys a batch and nothing else: no inbox,
no reduction, no range_counters.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from campaigns.bench.machine import cpu_s
from campaigns.bench.planting import FIRST_PHONE, PLANT_S_MAX, plant
from campaigns.bench.processes import BenchFailed
from engine.core.states import Status
from engine.core.tag import Tag
from engine.store.database import Connection, connect
from engine.store.queries import queries
from engine.webhooks.events import Parsed, StatusEvent, StatusRow
from engine.webhooks.inbox import EventFlow, write_together
from engine.webhooks.packing import GROUP_EVENTS_MAX
from engine.webhooks.status_applier import BATCH_EVENTS_MAX, apply_statuses

NUMBER = "1000"
STATUSES = (Status.SENT, Status.DELIVERED, Status.READ)
DISORDER = 20_000  # how far, in events, an event may stray from its place
# How far apart, in events, a recipient's events stand: close together, a batch writes its row once for some.
APART = {"close together": 3_000, "each alone": 100_000}
_WAMID = "wamid.HBgNNTUxMTk4NzY1NDMyMRUCABEYEjBG"

Stream = Literal["close together", "each alone"]
Place = tuple[int, int, int]
"""Of a recipient: the ordinal and the id of the range, and seq."""


@dataclass(frozen=True, slots=True)
class Folded:
    """Events that were folded in so many seconds. CPU seconds are of this process and of the session.

    `bare_per_s`: rows a second of the bare UPDATE. `updates`, `hot`: rows that were written, and how many
    without touching an index; sizes are of the outcomes with their indexes.
    """

    events: int
    elapsed_s: float
    cpu_s: float
    database_cpu_s: float
    bare_per_s: float
    updates: float
    hot: float
    before_mb: float
    after_mb: float


def measure(url: str, recipients: int, stream: Stream, commit_events: int = GROUP_EVENTS_MAX) -> Folded:
    """Fold three events of each recipient, committed to the inbox so many at once.

    Raises ConfigurationError for a database that no bench made, BenchFailed for an event that is lost.
    """
    return asyncio.run(_measure(url, recipients, stream, commit_events))


async def _measure(url: str, recipients: int, stream: Stream, commit_events: int) -> Folded:
    await plant(url, {NUMBER: 1_000.0}, recipients)
    connection = await connect(url, command_timeout_s=PLANT_S_MAX)
    sql = queries("bench")
    try:
        places = await _accept_all(connection)
        events = await _receive_all(connection, places, APART[stream], commit_events)
        await connection.execute(sql["reset_statistics"])
        before = await _written(connection)
        session: int = await connection.fetchval(sql["session"])
        own_s, database_s = time.process_time(), cpu_s(session)
        folded, elapsed_s = await _fold_all(connection)
        own_s, database_s = time.process_time() - own_s, cpu_s(session) - database_s
        read = await connection.fetchval(sql["read_in_range_counters"])
        if folded != events or read != recipients:
            raise BenchFailed(f"{folded} of {events} events were folded, {read} of {recipients} are read")
        after = await _written(connection)
        await connection.execute(sql["forget_statuses"])
        await connection.execute(sql["vacuum_accepted"])
        bare_per_s = await _update_bare(connection, places)
    finally:
        await connection.close()
    return Folded(folded, elapsed_s, own_s, database_s, bare_per_s, after[0], after[1], before[2], after[2])


async def _accept_all(connection: Connection) -> list[Place]:
    """Every recipient has its reply, the plain case; where each of them stands."""
    sql = queries("bench")
    await connection.execute(sql["sent_by"])
    await connection.execute(sql["accept_all"], _WAMID)
    await connection.execute(sql["count_accepted"])
    await connection.execute(sql["vacuum_accepted"])
    ranges = await connection.fetch(sql["accepted_ranges"])
    return [(row["ordinal"], row["range_id"], seq) for row in ranges for seq in range(1, row["last_seq"] + 1)]


async def _receive_all(connection: Connection, places: list[Place], apart: int, commit_events: int) -> int:
    """Three events for each, as a receiver commits them; returns how many."""
    installation: str = await connection.fetchval(queries("bench")["installation"])
    events: list[StatusRow] = [*_stream(places, apart, installation)]
    flow = EventFlow()
    for first in range(0, len(events), commit_events):
        await write_together(connection, Parsed(events[first : first + commit_events]), flow)
    return len(events)


def _stream(places: list[Place], apart: int, installation: str) -> Iterator[StatusEvent]:
    """Their events in order of arrival, displaced at random."""
    chance = random.Random(7)  # noqa: S311 - the same stream each time
    now_us = int(time.time() * 1e6)
    arrivals = [
        (3 * index + apart * step + chance.random() * DISORDER, index, status)
        for index in range(len(places))
        for step, status in enumerate(STATUSES)
    ]
    arrivals.sort()
    for _, index, status in arrivals:
        ordinal, range_id, seq = places[index]
        tag = Tag(installation, range_id, seq, 1, 1)
        yield StatusEvent(
            f"{_WAMID}{ordinal:06}{seq:06}", int(status), now_us, NUMBER, str(FIRST_PHONE), *tag, None, None
        )


async def _fold_all(connection: Connection) -> tuple[int, float]:
    """Events folded, and the seconds that it took."""
    began_s, folded = time.perf_counter(), 0
    while taken := (await apply_statuses(connection)).taken:
        folded += taken
    return folded, time.perf_counter() - began_s


async def _update_bare(connection: Connection, places: list[Place]) -> float:
    """Rows a second; in the same disorder, one status a row and pass."""
    chance = random.Random(8)  # noqa: S311 - the same order each time
    update = queries("bench")["update_bare"]
    keys = sorted(range(len(places)), key=lambda index: index + chance.random() * DISORDER)
    began_s = time.perf_counter()
    for status in STATUSES:
        for first in range(0, len(keys), BATCH_EVENTS_MAX):
            batch = [places[index] for index in keys[first : first + BATCH_EVENTS_MAX]]
            ids, seqs = [range_id for _, range_id, _ in batch], [seq for _, _, seq in batch]
            await connection.execute(update, ids, seqs, [int(status)] * len(batch))
    return len(STATUSES) * len(keys) / (time.perf_counter() - began_s)


async def _written(connection: Connection) -> tuple[float, float, float]:
    """Rows of outcomes updated since the statistics were reset, those without an index, and megabytes."""
    sql = queries("bench")
    await connection.execute(sql["flush_statistics"])
    row = await connection.fetchrow(sql["outcomes_written"])
    assert row is not None
    return row["updates"], row["hot"], row["size_mb"]
