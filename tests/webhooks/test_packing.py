"""What is packed into groups is what the store returns, whatever the texts, and nothing is left out."""

from datetime import UTC, datetime, timedelta

import asyncpg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from drumbeat.engine.core.events.records import FOREIGN, INSTALLATION, NO_TAG, Parsed, StatusEvent, StatusRow
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.inbox import EventFlow, write_together
from drumbeat.engine.store.packing import GROUP_EVENTS_MAX, pack
from tests.examples import examples
from tests.kit.planted import status_event

EPOCH = datetime.fromtimestamp(0, UTC)
# What a text may hold that an array of Postgres, or JSON, writes in another way.
words = st.one_of(
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12),
    st.sampled_from(
        ["", "NULL", "null", '"', "\\", "\\n", "\n\t\x7f\x01", "{a,b}", "a,b", " a ", "é\U0001f600"]
    ),
)
tags = st.one_of(
    st.just(NO_TAG),
    st.just(FOREIGN),
    st.tuples(
        st.sampled_from(["abcd1234", "zzzzzzzz"]),
        st.integers(1, 2**63 - 1),
        st.integers(0, 2**31 - 1),
        st.integers(1, 2**31 - 1),
        st.integers(0, 2**63 - 1),
    ),
)
rows = st.builds(
    lambda wamid, status, at, number, recipient, tag, code, detail, pricing: (
        *(wamid, status, at, number, recipient),
        *tag,
        *(code, detail, pricing),
    ),
    words,
    st.sampled_from([1, 2, 3, 4, 5]),
    st.integers(0, 2**53),  # the year 2255: beyond it a view's arithmetic has no microseconds
    st.none() | words,
    st.none() | words,
    tags,
    st.none() | st.integers(-(2**31), 2**31 - 1),
    st.none() | words,
    st.none() | st.integers(0, 17),
)

STORED = """
SELECT wamid, status, status_at, phone_number_id, recipient, installation, range_id, seq, attempt_no, epoch, code, detail,
       pricing
FROM waiting_events
"""


async def stored(connection: Connection) -> list[StatusRow]:
    return [
        (found[0], found[1], (found[2] - EPOCH) // timedelta(microseconds=1), *tuple(found)[3:])
        for found in await connection.fetch(STORED)
    ]


def in_order(events: list[StatusRow]) -> list[StatusRow]:
    return sorted(events, key=repr)


@settings(
    max_examples=examples(60),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(events=st.lists(rows, min_size=1, max_size=8))
async def test_events_come_out_as_they_went_in(pool: Pool, events: list[StatusRow]) -> None:
    async with pool.acquire() as connection:
        await connection.execute("TRUNCATE inbox_groups")
        await write_together(connection, Parsed(list(events)), EventFlow())
        assert in_order(await stored(connection)) == in_order(events)


def test_a_group_is_of_one_installation_and_no_larger_than_allowed() -> None:
    tag = ("abcd1234", 1, 1, 1, 1)
    mixed = [
        StatusEvent(f"w{n}", 2, 0, "1", None, *(FOREIGN, NO_TAG, tag)[min(n % 7, 2)], None, None)  # type: ignore[arg-type]
        for n in range(3 * GROUP_EVENTS_MAX)
    ]
    groups = pack(mixed)
    assert sum(int(group[1] or 0) for group in groups) == len(mixed)
    assert max(int(group[1] or 0) for group in groups) == GROUP_EVENTS_MAX
    assert {group[0] for group in groups} == {row[INSTALLATION] for row in mixed} == {None, "", "abcd1234"}


def test_nothing_is_packed_into_nothing() -> None:
    assert pack([]) == []


async def test_a_field_that_no_event_has_takes_no_space(pool: Pool) -> None:
    async with pool.acquire() as connection:
        await write_together(
            connection, Parsed([status_event("w", 2), status_event("v", 3, code=7)]), EventFlow()
        )
        row = await connection.fetchrow("SELECT * FROM inbox_groups")
    assert (row["range_ids"], row["details"], row["codes"]) == (None, None, [None, 7])


@pytest.mark.parametrize("broken", ["seqs = '{1,NULL}'", "epochs = NULL", "wamids = '{a}'", "codes = '{1}'"])
async def test_a_group_that_is_not_whole_is_refused(pool: Pool, broken: str) -> None:
    """Our events without the seq of their recipient would be read and never applied."""
    tag = ("abcd1234", 1, 1, 1, 1)
    async with pool.acquire() as connection:
        await write_together(connection, Parsed([status_event("w", 2, tag)] * 2), EventFlow())  # type: ignore[arg-type]
        with pytest.raises(asyncpg.CheckViolationError):
            await connection.execute(f"UPDATE inbox_groups SET {broken}")
