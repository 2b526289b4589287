"""Counting people for a messaging limit, on a real database: exact, under concurrency, and in the database's time."""

import asyncio

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from drumbeat.engine.core.limits.quota import (
    COUNTED_S,
    GATHER_S,
    WINDOW_S,
    QuotaScope,
    admitted,
    admitted_in_order,
)
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.quota import (
    Admission,
    CountedPerson,
    Quota,
    admit,
    forget_others,
    give_back,
    read_number_standings,
    read_quotas,
    read_standings,
)
from tests.sending.planted import FAST, SLOW, plant_numbers

QUOTA = Quota("account", 10, (SLOW, FAST))


def people(*phones: int, attempt_no: int = 1, seq: int = 1) -> list[CountedPerson]:
    return [CountedPerson(phone, 1, seq, attempt_no) for phone in phones]


async def ask(
    connection: Connection, asked: list[CountedPerson], unsent: list[CountedPerson] | None = None
) -> Admission:
    return await admit(connection, QUOTA, SLOW, asked, unsent or [], admitted)


async def age(connection: Connection, seconds: float) -> None:
    await connection.execute(
        "UPDATE quota_people SET counted_at = counted_at - make_interval(secs => $1)", seconds
    )


async def assert_exact(connection: Connection) -> int:
    """The number that is kept equals the rows; returns it."""
    rows: int = await connection.fetchval("SELECT count(*) FROM quota_people")
    assert await connection.fetchval("SELECT used FROM quota_scopes") == rows
    return rows


async def test_people_count_once_and_for_a_day(connection: Connection) -> None:
    first = await ask(connection, people(*range(8)))
    assert (first.may, first.new, first.left) == ([True] * 8, [True] * 8, 2)
    second = await ask(connection, people(0, 8, 9, 10))
    assert (second.may, second.new, second.left) == ([True] * 3 + [False], [False, True, True, False], 0)
    await age(connection, COUNTED_S - 60)
    assert (await ask(connection, people(0))).left == 0, "0 counts for another day"
    await age(connection, 60)
    assert (await ask(connection, people(20))).left == 8, "all but 0 have left the count"
    assert await assert_exact(connection) == 2


async def test_a_watermark_skips_nobody(connection: Connection) -> None:
    await ask(connection, people(*range(10)))
    asked = people(3, 11, 4)
    assert (await admit(connection, QUOTA, SLOW, asked, [], admitted_in_order)).may == [True, False, False]
    assert (await ask(connection, asked)).may == [True, False, True]


async def test_who_was_not_accepted_counts_no_longer_unless_tried_again(connection: Connection) -> None:
    await ask(connection, people(1, 2, 3))
    await ask(connection, people(2, attempt_no=2))
    await give_back(connection, QUOTA, people(1, 2))
    assert await assert_exact(connection) == 2, "the second attempt for 2 may be accepted"
    assert (await ask(connection, people(4), unsent=people(3))).left == 8
    assert await assert_exact(connection) == 2


async def test_one_person_in_two_campaigns_is_one_person(connection: Connection) -> None:
    asked = [CountedPerson(7, 1, 1, 1), CountedPerson(7, 2, 1, 1)]
    assert (await ask(connection, asked)).left == 9
    await assert_exact(connection)


async def test_an_open_conversation_is_not_counted(connection: Connection) -> None:
    await connection.executemany(
        "INSERT INTO incoming_messages VALUES ($1, $2, $3, 'text', now() - make_interval(secs => $4), '{}')",
        [("a", SLOW, "1", 60.0), ("b", FAST, "2", 60.0), ("c", SLOW, "3", WINDOW_S - 30)],
    )
    admission = await ask(connection, people(1, 2, 3))
    assert admission.new == [False, True, True], "2 wrote to another number; 3 may be too late on arrival"
    assert await assert_exact(connection) == 2


async def test_processes_that_share_a_limit_never_exceed_it(pool: Pool) -> None:
    async def claims(first: int) -> int:
        async with pool.acquire() as connection:
            granted = 0
            for phone in range(first, first + 8):
                granted += sum((await ask(connection, people(phone))).new)
            return granted

    assert sum(await asyncio.gather(*(claims(first) for first in (0, 100, 200)))) == 10
    async with pool.acquire() as connection:
        assert await assert_exact(connection) == 10


steps = st.lists(
    st.tuples(st.sampled_from(["claim", "refuse", "wait"]), st.integers(0, 14), st.integers(1, 40_000)),
    max_size=25,
)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps)
async def test_in_no_24_hours_more_people_than_the_limit(
    connection: Connection, orders: list[tuple[str, int, int]]
) -> None:
    """Whatever the order of claims, refusals and time: accepted people of each window, compared with the limit."""
    await connection.execute("TRUNCATE quota_scopes, quota_people")
    small = Quota("account", 4, (SLOW,))
    now_s, accepted, attempt_no = 0, list[tuple[int, int]](), 0
    for order, phone, seconds in orders:
        if order == "wait":
            await age(connection, seconds)
            now_s += seconds
            continue
        attempt_no += 1
        asked = people(phone, attempt_no=attempt_no)
        admission = await admit(connection, small, SLOW, asked, [], admitted)
        if admission.new[0] and order == "refuse":
            await give_back(connection, small, asked)
        elif admission.may[0]:
            accepted.append((now_s, phone))
        assert await connection.fetchval("SELECT used FROM quota_scopes") <= 4
    rows = await connection.fetchval("SELECT count(*) FROM quota_people")
    assert await connection.fetchval("SELECT coalesce(max(used), 0) FROM quota_scopes") == rows
    for end_s, _ in accepted:
        assert len({who for at_s, who in accepted if end_s - WINDOW_S < at_s <= end_s}) <= 4


async def test_what_is_shown(connection: Connection) -> None:
    await plant_numbers(connection, **{SLOW: 80, FAST: 80})
    assert await read_number_standings(connection) == {}
    await connection.execute("UPDATE numbers SET messaging_limit_tier = 'TIER_250'")
    quota = (await read_quotas(connection, QuotaScope.NUMBER))[SLOW]
    await admit(connection, quota, SLOW, people(*range(260)), [], admitted)
    standings = await read_number_standings(connection)
    assert (standings[SLOW].used, standings[SLOW].left, standings[FAST].used) == (250, 0, 0)
    assert standings[SLOW].more_at is not None
    more_in_s = (standings[SLOW].more_at - await connection.fetchval("SELECT now()")).total_seconds()
    assert COUNTED_S < more_in_s <= COUNTED_S + GATHER_S
    await age(connection, COUNTED_S + GATHER_S)
    assert (await read_number_standings(connection))[SLOW].left == 250


async def test_after_a_smaller_limit_several_must_leave_first(connection: Connection) -> None:
    for phone in range(10):
        await age(connection, 3_600)
        await ask(connection, people(phone))
    [more_at] = [
        each.more_at for each in (await read_standings(connection, [Quota("account", 4, ())])).values()
    ]
    third_last = await connection.fetchval("SELECT counted_at FROM quota_people WHERE phone = 6")
    assert more_at is not None
    assert (more_at - third_last).total_seconds() == COUNTED_S + GATHER_S


async def test_what_is_no_longer_limited_is_forgotten(connection: Connection) -> None:
    await ask(connection, people(1))
    await forget_others(connection, {SLOW: QUOTA})
    assert await assert_exact(connection) == 1
    await forget_others(connection, {})
    assert await connection.fetchval("SELECT count(*) FROM quota_people") == 0
