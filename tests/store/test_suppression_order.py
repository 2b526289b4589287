"""Everything that adds to the suppression list locks phones in one order. Otherwise two would deadlock."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from drumbeat.campaigns.phones.suppression import add_suppressions
from drumbeat.engine.core.events.records import Parsed
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.facts import Fact, FactKind
from drumbeat.engine.store.inbox import EventFlow, write_together
from drumbeat.engine.store.recording import record
from tests.kit.planted import FIRST_RANGE, NUMBER, plant_campaign, status_event
from tests.kit.waiting import until_blocked

LOW, HIGH = 5511960000001, 5511960000002
ADD = "INSERT INTO suppressions (phone, reason) VALUES ($1, 'another') ON CONFLICT DO NOTHING"


async def by_hand(connection: Connection, _: int) -> None:
    await add_suppressions(connection, [str(HIGH), str(LOW)])


async def by_replies(connection: Connection, campaign: int) -> None:
    facts = [
        Fact(campaign, FIRST_RANGE, seq, 1, 1, NUMBER, FactKind.FAILED, code=131050, suppress=True)
        for seq in (2, 1)
    ]
    await record(connection, facts)


async def by_events(connection: Connection, _: int) -> None:
    opted_out_events = [
        status_event(f"w{phone}", 3, recipient=str(phone), code=131050) for phone in (HIGH, LOW)
    ]
    await write_together(connection, Parsed(opted_out=opted_out_events), EventFlow())


@pytest.mark.parametrize("suppress", [by_hand, by_replies, by_events])
async def test_the_lower_phone_comes_first(
    pool: Pool, suppress: Callable[[Connection, int], Awaitable[None]]
) -> None:
    async with pool.acquire() as first, pool.acquire() as second, pool.acquire() as third:
        campaign = await plant_campaign(first, first_phone=LOW - 1)
        async with first.transaction():
            await first.execute(ADD, LOW)
            suppressing = asyncio.ensure_future(suppress(second, campaign))
            await until_blocked(third, second)
            await third.execute("SET lock_timeout = '3s'")
            await third.execute(ADD, HIGH)  # nobody holds it yet
        await suppressing
        listed = await first.fetch("SELECT phone FROM suppressions WHERE phone >= $1 ORDER BY phone", LOW)
        assert [row["phone"] for row in listed] == [LOW, HIGH]
