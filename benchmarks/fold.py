"""How many status events a second become states, against the bare UPDATE by primary key that they amount to?

    python -m benchmarks.fold [RECIPIENTS] [EVENTS A COMMIT]

Three events (sent, delivered, read) a recipient, in the disorder of a real stream, committed 1,000 at once
unless said otherwise, in batches of 10,000, from the inbox to the tallies. Two streams: in one the events of
a recipient come close together, so that a batch writes its row once for some of them; in the other each
comes alone. The yardstick, in the same run on rows of the same kind: `UPDATE ... FROM` of 10,000 keys by
primary key and nothing else: no inbox, no reduction, no tallies. Starts a Postgres of its own; fsync is on.

Where the time goes (EXPLAIN ANALYZE of each statement, perf): over four tenths in finding and writing the
rows, a quarter in looking up what is recorded, a fifth in taking the events out of their groups, sorting and
reducing them, a twentieth in the commit, and some hundredths each in finding the groups, deleting them and
counting. No function stands out: tuples are formed and taken apart at every step, so fewer and narrower steps
pay.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.cost import cpu_s, print_conditions
from engine.core.tag import Tag
from engine.store.database import Connection, connect
from engine.store.embedded import start_embedded, stop_embedded
from engine.store.migrate import migrate
from engine.webhooks.folder import BATCH_EVENTS_MAX, fold_batch
from engine.webhooks.packing import GROUP_EVENTS_MAX
from tests.webhooks.planted import (
    FIRST_RANGE,
    NUMBER,
    installation,
    plant_campaign,
    put_in_inbox,
    status_event,
)

RANGE_RECIPIENTS = 1_000
DISORDER = 20_000  # how far, in events, an event may stray from its place
# How far apart, in events, a recipient's events stand.
STREAMS = {"close together": 3_000, "each alone": 100_000}
HEAP = """
SELECT sum(n_tup_upd)::float8 AS updates, sum(n_tup_hot_upd)::float8 AS hot
FROM pg_stat_user_tables WHERE relname LIKE 'outcomes_%'
"""
BARE_UPDATE = """
UPDATE outcomes SET status = greatest(outcomes.status, given.status), sent_at = now()
FROM unnest($1::bigint[], $2::integer[], $3::smallint[]) AS given (range_id, seq, status)
WHERE outcomes.range_id = given.range_id AND outcomes.seq = given.seq AND outcomes.try = 1
"""


async def accept_all(connection: Connection, recipients: int) -> None:
    """Every recipient has its reply: the plain case."""
    await plant_campaign(connection, ranges=recipients // RANGE_RECIPIENTS, recipients=RANGE_RECIPIENTS)
    await connection.execute(
        "INSERT INTO outcomes (range_id, seq, try, epoch, kind, status, phone_number_id, wamid)"
        " SELECT range_id, seq, 1, 1, 1, 1, $1,"
        " 'wamid.HBgNNTUxMTk4NzY1NDMyMRUCABEYEjBG'"
        " || lpad((range_id % 100000)::text, 6, '0') || lpad(seq::text, 6, '0')"
        " FROM recipients ORDER BY range_id, seq",
        NUMBER,
    )
    await connection.execute("UPDATE tallies SET accepted = recipients")
    await connection.execute("VACUUM ANALYZE outcomes, recipients, ranges, tallies")


async def receive_all(connection: Connection, recipients: int, apart: int, commit_events: int) -> int:
    """Three events for each, displaced at random, as a receiver commits them; returns how many."""
    chance = random.Random(7)
    own = await installation(connection)
    places = [
        (3 * index + apart * step + chance.random() * DISORDER, index, rank)
        for index in range(recipients)
        for step, rank in enumerate((2, 4, 5))
    ]
    places.sort()
    for first in range(0, len(places), commit_events):
        events = []
        for _, index, rank in places[first : first + commit_events]:
            range_id, seq = FIRST_RANGE + index // RANGE_RECIPIENTS, index % RANGE_RECIPIENTS + 1
            wamid = f"wamid.HBgNNTUxMTk4NzY1NDMyMRUCABEYEjBG{range_id % 100000:06}{seq:06}"
            events.append(status_event(wamid, rank, Tag(own, range_id, seq, 1, 1), recipient="5511987654321"))
        await put_in_inbox(connection, *events)
    return len(places)


async def fold_all(connection: Connection) -> tuple[int, float]:
    """Events folded and seconds taken."""
    started, folded = time.perf_counter(), 0
    while taken := (await fold_batch(connection)).taken:
        folded += taken
    return folded, time.perf_counter() - started


async def update_bare(connection: Connection, recipients: int) -> tuple[int, float]:
    """Rows updated and seconds taken; the same disorder, one status a row and pass."""
    chance = random.Random(8)
    keys = sorted(range(recipients), key=lambda index: index + chance.random() * DISORDER)
    started, updated = time.perf_counter(), 0
    for status in (2, 4, 5):
        for first in range(0, recipients, BATCH_EVENTS_MAX):
            batch = keys[first : first + BATCH_EVENTS_MAX]
            await connection.execute(
                BARE_UPDATE,
                [FIRST_RANGE + index // RANGE_RECIPIENTS for index in batch],
                [index % RANGE_RECIPIENTS + 1 for index in batch],
                [status] * len(batch),
            )
            updated += len(batch)
    return updated, time.perf_counter() - started


async def empty(connection: Connection) -> None:
    await connection.execute(
        "TRUNCATE campaigns, ranges, tallies, claims, recipients, outcomes, open_tries, inbox, inbox_groups"
        " CASCADE"
    )
    await connection.execute("DELETE FROM numbers")


async def measure(url: str, recipients: int, name: str, apart: int, commit_events: int) -> None:
    """One stream, and the bare UPDATE on the same rows."""
    connection = await connect(url, command_timeout_s=600)
    session: int = await connection.fetchval("SELECT pg_backend_pid()")
    try:
        await empty(connection)
        await accept_all(connection, recipients)
        events = await receive_all(connection, recipients, apart, commit_events)
        await connection.execute("SELECT pg_stat_reset()")
        size_before = await size_mb(connection)
        own_before, store_before = time.process_time(), cpu_s(session)
        folded, fold_s = await fold_all(connection)
        own, store = time.process_time() - own_before, cpu_s(session) - store_before
        assert folded == events
        assert await connection.fetchval("SELECT sum(read) FROM tallies") == recipients
        await connection.execute("SELECT pg_stat_force_next_flush()")
        heap = await connection.fetchrow(HEAP)
        assert heap is not None
        size_after = await size_mb(connection)
        await connection.execute("UPDATE outcomes SET status = 1, sent_at = NULL")
        await connection.execute("VACUUM outcomes")
        updated, bare_s = await update_bare(connection, recipients)
    finally:
        await connection.close()
    rate, bare = folded / fold_s, updated / bare_s
    print(f"{name}: fold {rate:,.0f} events/s   bare UPDATE {bare:,.0f} rows/s   ratio {rate / bare:.2f}")
    print(
        f"  CPU an event: Postgres {store / folded * 1e6:.1f} µs, own {own / folded * 1e6:.1f} µs", end="   "
    )
    print(f"rows written an event {heap['updates'] / folded:.2f}, {heap['hot'] / heap['updates']:.0%} HOT")
    print(f"  outcomes with their indexes: {size_before:.1f} MB before, {size_after:.1f} MB after")


async def size_mb(connection: Connection) -> float:
    size: float = await connection.fetchval(
        "SELECT sum(pg_total_relation_size(oid))::float8 / 1e6 FROM pg_class"
        " WHERE relname LIKE 'outcomes_20__\\___' AND relkind = 'r'"
    )
    return size


def main() -> None:
    recipients = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    commit_events = int(sys.argv[2]) if len(sys.argv) > 2 else GROUP_EVENTS_MAX
    home = Path(tempfile.mkdtemp(prefix="beat-", dir="/var/tmp"))
    print_conditions()
    try:
        url = start_embedded(home)
        asyncio.run(migrate(url))
        for name, apart in STREAMS.items():
            asyncio.run(measure(url, recipients, name, apart, commit_events))
    finally:
        stop_embedded(home)
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
