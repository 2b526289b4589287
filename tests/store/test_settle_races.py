"""A person's decision, a policy, the end of a campaign and recording, at the same time."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from drumbeat.engine.core.states import CampaignEvent, CampaignState
from drumbeat.engine.errors import UsageError
from drumbeat.engine.store import closing
from drumbeat.engine.store import in_doubt as settling
from drumbeat.engine.store.campaign_states import apply_event
from drumbeat.engine.store.closing import close_ranges, finish_campaign
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.facts import Fact, FactKind
from drumbeat.engine.store.in_doubt import assume_sent, resend, resend_by_policy
from drumbeat.engine.store.queries import queries
from drumbeat.engine.store.recording import record
from tests.kit.planted import (
    FIRST_RANGE,
    NUMBER,
    plant_campaign,
    put_in_doubt,
    range_counters,
    recount,
    state_of,
)
from tests.kit.waiting import until_blocked

Settle = Callable[[Connection, int, str], Awaitable[int]]


async def campaign_state(connection: Connection, campaign: int) -> str:
    state: str = await connection.fetchval("SELECT state FROM campaigns WHERE campaign_id = $1", campaign)
    return state


async def test_two_persons_at_once_change_each_recipient_once(pool: Pool) -> None:
    async with pool.acquire() as connection:
        campaign = await plant_campaign(connection, ranges=5, recipients=50)
        for range_id in range(FIRST_RANGE, FIRST_RANGE + 5):
            await put_in_doubt(connection, range_id, *range(1, 51))

    async def settle(actor: str) -> int:
        async with pool.acquire() as connection:
            return await (resend if actor == "ana" else assume_sent)(connection, campaign, actor)

    settled = await asyncio.gather(settle("ana"), settle("bob"), settle("ana"))
    assert sum(settled) == 250
    async with pool.acquire() as connection:
        assert await range_counters(connection) == await recount(connection)


async def test_a_campaign_does_not_finish_while_recipients_in_doubt_are_sent_to_again(pool: Pool) -> None:
    """A resend locks the campaign even if its state does not change."""
    async with pool.acquire() as first, pool.acquire() as second:
        campaign = await plant_campaign(first)
        await put_in_doubt(first, FIRST_RANGE, 1, 2, 3)
        await first.execute("UPDATE ranges SET state = 'done', phone_number_id = NULL")
        async with first.transaction():
            assert await resend(first, campaign, "ana") == 3
            finishing = asyncio.create_task(finish_campaign(second, campaign))
            await until_blocked(pool, second)
        assert await finishing is None
        assert await campaign_state(first, campaign) == "running"
        assert await first.fetchval("SELECT state FROM ranges") == "open"


async def test_a_campaign_does_not_finish_while_a_late_refusal_is_recorded(pool: Pool) -> None:
    async with pool.acquire() as first, pool.acquire() as second:
        campaign = await plant_campaign(first)
        await put_in_doubt(first, FIRST_RANGE, 1)
        await first.execute("UPDATE ranges SET state = 'done', phone_number_id = NULL")
        late = Fact(campaign, FIRST_RANGE, 1, 1, 1, NUMBER, FactKind.DEFERRED, reason="throttled")
        async with first.transaction():
            await record(first, [late])
            finishing = asyncio.create_task(finish_campaign(second, campaign))
            await until_blocked(pool, second)
        assert await finishing is None
        assert await campaign_state(first, campaign) == "running"
        assert await state_of(first, 1) == "deferred"


async def test_a_resend_during_the_decision_to_finish_keeps_the_campaign_running(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No process reads the ranges of a finished campaign: its deferred recipients would be forgotten."""
    async with pool.acquire() as first, pool.acquire() as second:
        campaign = await plant_campaign(first)
        await put_in_doubt(first, FIRST_RANGE, 1, 2, 3)
        await first.execute("UPDATE ranges SET state = 'done', phone_number_id = NULL")
        real, sending = closing.apply_if_allowed, []

        async def end(*arguments: Any) -> CampaignState | None:
            sending.append(asyncio.create_task(resend(second, campaign, "ana")))
            await until_blocked(pool, second, sending[0])
            return await real(*arguments)

        monkeypatch.setattr(closing, "apply_if_allowed", end)
        assert await finish_campaign(first, campaign) == 3
        assert await sending[0] == 3
        assert await campaign_state(first, campaign) == "running"
        assert await first.fetchval("SELECT state FROM ranges") == "open"


async def test_who_pauses_before_the_end_is_decided_keeps_the_campaign_paused(pool: Pool) -> None:
    async with pool.acquire() as connection:
        campaign = await plant_campaign(connection, state="paused")
        await connection.execute("UPDATE ranges SET state = 'done', phone_number_id = NULL")
        assert await finish_campaign(connection, campaign) is None
        assert await campaign_state(connection, campaign) == "paused"


async def test_of_two_who_close_a_campaign_at_once_one_skips_each_recipient(pool: Pool) -> None:
    """A person cancels, and each process that sends closes the ranges too."""
    async with pool.acquire() as first, pool.acquire() as second:
        campaign = await plant_campaign(first, ranges=2, claimed_through=4)
        async with first.transaction():
            assert await close_ranges(first, campaign, "cancelled") == 12
            other = asyncio.create_task(close_ranges(second, campaign, "cancelled"))
            await until_blocked(pool, second)
        assert await other == 0
        assert await range_counters(first) == await recount(first)


@pytest.mark.parametrize("settle", [resend, assume_sent])
async def test_a_persons_word_that_is_cut_short_changes_nothing(
    pool: Pool, monkeypatch: pytest.MonkeyPatch, settle: Settle
) -> None:
    """Half of it would be a second message without an audit row, or recipients in a range that no process reads."""
    async with pool.acquire() as connection:
        campaign = await plant_campaign(connection)
        await put_in_doubt(connection, FIRST_RANGE, 1, 2, 3)
        await connection.execute("UPDATE ranges SET state = 'done', phone_number_id = NULL")

        async def cut(*_: Any) -> None:
            raise ConnectionResetError("cut by the test")

        with monkeypatch.context() as patch, pytest.raises(ConnectionResetError):
            patch.setattr(settling, "_audit", cut)
            await settle(connection, campaign, "ana")
        assert [await state_of(connection, seq) for seq in (1, 2, 3)] == ["unknown"] * 3
        assert await connection.fetchval("SELECT state FROM ranges") == "done"
        assert await range_counters(connection) == await recount(connection)
        assert await settle(connection, campaign, "ana") == 3


async def test_a_resend_waits_for_claims_that_are_being_made(pool: Pool) -> None:
    """A transaction that locked range counters before ranges would deadlock with a claim."""
    async with pool.acquire() as first, pool.acquire() as second:
        campaign = await plant_campaign(first)
        await put_in_doubt(first, FIRST_RANGE, 1, 2, 3)
        late = Fact(campaign, FIRST_RANGE, 1, 1, 1, NUMBER, FactKind.ACCEPTED, wamid="w")
        async with first.transaction():
            await first.execute("SELECT FROM ranges WHERE range_id = $1 FOR UPDATE", FIRST_RANGE)
            sending = asyncio.create_task(resend(second, campaign, "ana"))
            await until_blocked(pool, second)
            await record(first, [late])
        assert await sending == 2
        assert await range_counters(first) == await recount(first)


@pytest.mark.parametrize("settle", [resend, assume_sent])
async def test_a_persons_word_waits_for_replies_that_are_being_recorded(pool: Pool, settle: Settle) -> None:
    """A transaction that locked recipients before range counters would deadlock with a recording."""
    async with pool.acquire() as first, pool.acquire() as second:
        campaign = await plant_campaign(first)
        await put_in_doubt(first, FIRST_RANGE, 1, 2, 3)
        late = Fact(campaign, FIRST_RANGE, 1, 1, 1, NUMBER, FactKind.ACCEPTED, wamid="w")
        async with first.transaction():
            await first.execute(queries("facts")["lock_range_counters"], [FIRST_RANGE])
            word = asyncio.ensure_future(settle(second, campaign, "ana"))
            await until_blocked(pool, second)
            await record(first, [late])
        assert await word == 2, "one of the three had been accepted"
        assert await first.fetchval("SELECT wamid FROM outcomes WHERE seq = 1") == "w"
        assert await range_counters(first) == await recount(first)


async def test_an_end_waits_for_replies_that_are_being_recorded(pool: Pool) -> None:
    """A recipient who waits for a resend may have been reached: neither transaction may count what the other changes."""
    async with pool.acquire() as first, pool.acquire() as second:
        campaign = await plant_campaign(first)
        waiting = [Fact(campaign, FIRST_RANGE, seq, 1, 1, NUMBER, FactKind.DEFERRED) for seq in (1, 2)]
        await record(first, waiting)
        async with first.transaction():
            await first.execute(queries("facts")["lock_range_counters"], [FIRST_RANGE])
            closing = asyncio.create_task(close_ranges(second, campaign, "cancelled"))
            await until_blocked(pool, second)
            await record(first, [waiting[0]._replace(kind=FactKind.ACCEPTED, wamid="w")])
        assert await closing == 1
        assert [await state_of(first, seq) for seq in (1, 2)] == ["accepted", "skipped"]
        assert await range_counters(first) == await recount(first)


async def test_a_cancel_and_a_resend_leave_nobody_waiting(pool: Pool) -> None:
    """In either order: a cancel in between makes the resend undo its changes."""
    async with pool.acquire() as first, pool.acquire() as second:
        campaign = await plant_campaign(first)
        await put_in_doubt(first, FIRST_RANGE, 1, 2, 3)
        async with second.transaction():
            await apply_event(second, campaign, CampaignEvent.CANCEL, "by hand")
            sending = asyncio.create_task(resend(first, campaign, "ana"))
            await until_blocked(pool, first)
        with pytest.raises(UsageError, match="cancelled campaign sends nothing again"):
            await sending
        await close_ranges(second, campaign, "cancelled")
        assert [await state_of(first, seq) for seq in (1, 2, 3)] == ["unknown"] * 3
        assert await range_counters(first) == await recount(first)


async def test_a_policy_passes_over_a_campaign_that_is_cancelled_meanwhile(pool: Pool) -> None:
    async with pool.acquire() as first, pool.acquire() as second:
        campaign = await plant_campaign(first, on_unknown="resend")
        await put_in_doubt(first, FIRST_RANGE, 1, 2, 3)
        async with second.transaction():
            await apply_event(second, campaign, CampaignEvent.CANCEL, "by hand")
            sending = asyncio.create_task(resend_by_policy(first))
            await until_blocked(pool, first)
        assert await sending == 0
        assert await range_counters(first) == await recount(first)
