"""Groups of events are applied like the same events one by one, survive a kill, and are read in bounded batches."""

import asyncio
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from drumbeat.engine.core.events.records import StatusEvent
from drumbeat.engine.core.tag import Tag
from drumbeat.engine.store.database import LOST_CONNECTION, Connection, Pool, connect
from drumbeat.engine.store.facts import Fact, FactKind
from drumbeat.engine.store.recording import record
from drumbeat.engine.store.status_applier import apply_statuses
from tests.examples import examples
from tests.kit.planted import (
    FIRST_RANGE,
    NUMBER,
    installation,
    plant_campaign,
    put_in_doubt,
    put_in_inbox,
    range_counters,
    recount,
    state_of,
    status_event,
)
from tests.kit.waiting import until_blocked

RECIPIENTS = 9
PHONE = 5511900000000  # of a recipient, less its seq
KINDS = ("tagged", "tagged", "untagged", "other installation", "other program", "gone range")
ALONE = """
INSERT INTO inbox (wamid, status, status_at, phone_number_id, recipient, installation, range_id, seq, attempt_no, epoch, code, detail,
                   pricing)
VALUES ($1, $2, timestamptz 'epoch' + $3::bigint * interval '1 microsecond', $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
"""
FACTS = (
    "SELECT range_id, seq, attempt_no, epoch, kind, status, phone_number_id, wamid, code, reason, sent_at, delivered_at, read_at,"
    " failed_at, pricing FROM outcomes ORDER BY range_id, seq, attempt_no",
    "SELECT range_id, seq, attempt_no, state, epoch, reason FROM pending_attempts ORDER BY range_id, seq",
    "SELECT range_id, deferred, accepted, sent, delivered, read, failed, unknown, skipped FROM range_counters ORDER BY range_id",
    "SELECT wamid, status, status_at, phone_number_id, recipient, installation, range_id, seq, attempt_no, epoch, code, detail,"
    " pricing, matches_tried FROM waiting_events ORDER BY wamid, status, status_at, installation, range_id, code",
)

chosen = st.tuples(
    st.sampled_from(KINDS),
    st.integers(1, RECIPIENTS),
    st.integers(1, 2),
    st.sampled_from([1, 2, 3, 4, 5]),
    st.integers(0, 3),
    st.integers(1, 2),
)


async def plant_all_cases(connection: Connection) -> None:
    """Recipients: 1 to 4 accepted, 5 claimed, 6 and 7 in doubt, 8 refused and sent again, 9 not yet claimed."""
    await connection.execute(
        "TRUNCATE campaigns, ranges, range_counters, claims, recipients, outcomes, pending_attempts, inbox, inbox_groups CASCADE"
    )
    campaign = await plant_campaign(connection, recipients=RECIPIENTS, claimed_through=8, first_phone=PHONE)
    await record(
        connection,
        [
            Fact(campaign, FIRST_RANGE, seq, 1, 1, NUMBER, FactKind.ACCEPTED, f"w{seq}.1")
            for seq in range(1, 5)
        ]
        + [Fact(campaign, FIRST_RANGE, 8, 1, 1, NUMBER, FactKind.DEFERRED, reason="throttled", wait_s=60)],
    )
    await connection.execute("UPDATE outcomes SET attempted_at = NULL")
    await put_in_doubt(connection, FIRST_RANGE, 6, 7)


def event_of(own: str, drawn: tuple[str, int, int, int, int, int]) -> list[StatusEvent]:
    kind, seq, attempt_no, rank, minute, repeats = drawn
    tag: Any = {
        "tagged": Tag(own, FIRST_RANGE, seq, attempt_no, 1),
        "other installation": Tag("zzzzzzzz", FIRST_RANGE, seq, attempt_no, 1),
        "other program": ("", None, None, None, None),
        "gone range": Tag(own, (2000 << 47) + seq, seq, attempt_no, 1),
    }.get(kind)
    known = seq <= 4 or kind in ("tagged", "gone range")
    wamid = f"w{seq}.{attempt_no}" if known else f"{kind} {seq}"
    event = status_event(wamid, rank, tag, recipient=str(PHONE + seq))
    failed = {"code": 131026 + minute, "detail": f"refused {minute}"} if rank == 3 else {"pricing": seq}
    return [event._replace(status_us=event.status_us + minute * 60_000_000, **failed)] * repeats


async def facts(connection: Connection) -> list[list[tuple[Any, ...]]]:
    assert await range_counters(connection) == await recount(connection)
    return [[tuple(row) for row in await connection.fetch(query)] for query in FACTS]


async def in_one_group(connection: Connection, events: list[StatusEvent]) -> None:
    await put_in_inbox(connection, *events)


async def in_a_group_each(connection: Connection, events: list[StatusEvent]) -> None:
    for event in events:
        await put_in_inbox(connection, event)


async def alone(connection: Connection, events: list[StatusEvent]) -> None:
    await connection.executemany(ALONE, events)


@settings(
    max_examples=examples(50),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(drawn=st.lists(chosen, min_size=1, max_size=14), seed=st.integers(0, 99))
async def test_a_group_is_applied_like_its_events_one_by_one(pool: Pool, drawn: list[Any], seed: int) -> None:
    ends = []
    async with pool.acquire() as connection:
        for store in (in_one_group, in_a_group_each, alone):
            await plant_all_cases(connection)
            own = await installation(connection)
            events = [event for choice in drawn for event in event_of(own, choice)]
            random.Random(seed).shuffle(events)
            await store(connection, events)
            applied = await apply_statuses(connection)
            assert applied.taken == len(events)
            ends.append((applied, await facts(connection)))
    assert ends[0] == ends[1] == ends[2]


async def test_plain_and_other_recipients_of_a_group_are_applied_together(connection: Connection) -> None:
    await plant_all_cases(connection)
    own = await installation(connection)
    drawn = [("tagged", seq, 1, 4, 0, 1) for seq in range(1, 9)] + [("untagged", 2, 1, 5, 0, 1)]
    await put_in_inbox(connection, *(event for draw in drawn for event in event_of(own, draw)))
    await apply_statuses(connection)
    assert await range_counters(connection) == await recount(connection)
    states = [await state_of(connection, seq) for seq in range(1, 10)]
    assert states == ["delivered", "read", *["delivered"] * 6, "pending"]
    assert await connection.fetchval("SELECT count(*) FROM waiting_events") == 0


async def test_an_applier_killed_before_its_commit_loses_nothing(database_url: str, pool: Pool) -> None:
    async with pool.acquire() as connection:
        await plant_all_cases(connection)
        own = await installation(connection)
        drawn = [("tagged", 1, 1, 4, 0, 1), ("tagged", 6, 1, 4, 0, 1), ("untagged", 2, 1, 5, 0, 1)]
        await put_in_inbox(connection, *(event for draw in drawn for event in event_of(own, draw)))
        async with connection.transaction():
            # The applier has read the untagged event when it waits for this lock.
            await connection.execute("SELECT FROM range_counters FOR UPDATE")
            doomed = await connect(database_url)
            applying = asyncio.create_task(apply_statuses(doomed))
            pid = doomed.get_server_pid()
            await until_blocked(pool, pid)
            await connection.execute("SELECT pg_terminate_backend($1)", pid)
            with pytest.raises(LOST_CONNECTION):
                await applying
            doomed.terminate()
            async with asyncio.timeout(30):
                while await pool.fetchval("SELECT count(*) FROM pg_stat_activity WHERE pid = $1", pid):
                    await asyncio.sleep(0)
        assert await connection.fetchval("SELECT count(*) FROM waiting_events") == 3
        assert (await apply_statuses(connection)).matched == 3
        assert [await state_of(connection, seq) for seq in (1, 2, 6)] == ["delivered", "read", "delivered"]
        assert await range_counters(connection) == await recount(connection)


async def test_a_group_that_is_committed_late_is_not_skipped(pool: Pool) -> None:
    async with pool.acquire() as slow, pool.acquire() as connection:
        await plant_all_cases(connection)
        own = await installation(connection)
        first, second = (event_of(own, ("tagged", seq, 1, 4, 0, 1))[0] for seq in (1, 2))
        commit = slow.transaction()
        await commit.start()
        await put_in_inbox(slow, first)
        await put_in_inbox(connection, second._replace(phone_number_id="another"))
        assert (await apply_statuses(connection)).taken == 1
        await commit.commit()
        assert (await apply_statuses(connection)).taken == 1
        assert [await state_of(connection, seq) for seq in (1, 2)] == ["delivered", "delivered"]


async def test_a_batch_takes_no_more_than_it_may_and_starves_nobody(connection: Connection) -> None:
    await plant_all_cases(connection)
    own = await installation(connection)
    grouped, single = (event_of(own, ("tagged", seq, 1, 4, 0, 1))[0] for seq in (1, 2))
    for _ in range(40):
        await put_in_inbox(connection, *[grouped] * 7)
    await alone(connection, [single] * 50)
    waiting = "SELECT count(*) FROM waiting_events WHERE seq = $1"
    assert (await apply_statuses(connection, 30)).taken == 35 + 3
    assert await connection.fetchval(waiting, 1) == 280 - 35
    assert await connection.fetchval(waiting, 2) == 50 - 3
    while (await apply_statuses(connection, 30)).taken:
        assert await range_counters(connection) == await recount(connection)
    assert await connection.fetchval("SELECT count(*) FROM waiting_events") == 0


async def test_the_oldest_groups_are_found_without_reading_the_others(connection: Connection) -> None:
    await plant_all_cases(connection)
    for _ in range(300):
        await put_in_inbox(connection, status_event("w", 2))
    read = (
        "SELECT seq_tup_read + coalesce(idx_tup_fetch, 0) FROM pg_stat_xact_user_tables"
        " WHERE relname = 'inbox_groups'"
    )
    async with connection.transaction():
        before = await connection.fetchval(read)
        assert len(await connection.fetchval("SELECT oldest_groups(10)")) == 10
        assert 10 <= await connection.fetchval(read) - before < 100
