"""What counts against a frequency cap, and two claims of one person at once."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest

from drumbeat.engine.clock import monotonic_ns
from drumbeat.engine.core.limits.frequency_cap import FrequencyCap
from drumbeat.engine.core.limits.guard import PairGuard
from drumbeat.engine.core.limits.sending_hours import SendingHours
from drumbeat.engine.sending.feeder import Feeder
from drumbeat.engine.sending.messages import RunningCampaign
from drumbeat.engine.sending.number_quota import NumberQuota
from drumbeat.engine.sending.retries import Retries
from drumbeat.engine.store.claims import Candidate, WatermarkAdvance
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.facts import Fact, FactKind
from drumbeat.engine.store.frequency_cap import advance_within_caps, counting, over_cap
from drumbeat.engine.store.leases import Lease, take_lease
from drumbeat.engine.store.ranges import HeldRange, take_range
from drumbeat.engine.store.recording import record
from tests.sending.planted import FAST, SLOW, another_process, context_of, plant_campaign, up_to

ANA, ANA_TOO = 5511987654321, 551187654321  # one phone in two spellings
ONCE = FrequencyCap(1, timedelta(days=7))
TWICE = FrequencyCap(2, timedelta(days=7))

pytestmark = pytest.mark.usefixtures("two_numbers")


async def claimed(connection: Connection, phone: int, lease: Lease) -> HeldRange:
    """A campaign of one person, whose first attempt is claimed."""
    held = await taken(connection, phone, lease)
    assert await advance_within_caps(connection, [await up_to(connection, lease, held, 1)])
    return held


async def taken(connection: Connection, phone: int, lease: Lease) -> HeldRange:
    campaign = await plant_campaign(connection, phones=[phone], recipients=1, numbers=(SLOW, FAST))
    held = await take_range(connection, lease, campaign.campaign_id)
    assert held is not None
    return held


async def capped(
    connection: Connection, lease: Lease, phone: int, cap: FrequencyCap = ONCE
) -> WatermarkAdvance:
    """The claim of a campaign of one person with a cap."""
    return (await up_to(connection, lease, await taken(connection, phone, lease), 1))._replace(cap=cap)


def fact(held: HeldRange, lease: Lease, kind: FactKind) -> Fact:
    wamid = f"w{held.range_id}" if kind is FactKind.ACCEPTED else None
    attempt = (held.campaign_id, held.range_id, 1, 1, lease.epoch, lease.phone_number_id)
    return Fact(*attempt, kind, wamid, reason="test", attempted_us=1_700_000_000_000_000)


@pytest.mark.parametrize(
    ("first_phone", "kind", "age", "counts"),
    [
        (ANA, None, None, True),  # under way
        (ANA, FactKind.ACCEPTED, "6 days 23 hours", True),
        (ANA, FactKind.ACCEPTED, "7 days 1 second", False),
        (ANA_TOO, FactKind.ACCEPTED, "1 hour", True),
        (ANA + 1, FactKind.ACCEPTED, "1 hour", False),
        (ANA, FactKind.UNKNOWN, "1 hour", True),
        (ANA, FactKind.UNKNOWN, "7 days 1 second", False),
        (ANA, FactKind.FAILED, "1 hour", False),
        (ANA, FactKind.DEFERRED, "1 hour", False),
    ],
)
async def test_what_counts(
    connection: Connection, first_phone: int, kind: FactKind | None, age: str | None, counts: bool
) -> None:
    lease = await take_lease(connection, SLOW, another_process())
    held = await claimed(connection, first_phone, lease)
    if kind is not None:
        await record(connection, [fact(held, lease, kind)])
        await connection.execute(f"UPDATE outcomes SET attempted_at = now() - interval '{age}'")
        await connection.execute(f"UPDATE pending_attempts SET since = now() - interval '{age}'")
    assert bool(await advance_within_caps(connection, [await capped(connection, lease, ANA)])) is not counts


async def test_a_message_that_the_service_reports_failed_counts_no_more(connection: Connection) -> None:
    lease = await take_lease(connection, SLOW, another_process())
    held = await claimed(connection, ANA, lease)
    await record(connection, [fact(held, lease, FactKind.ACCEPTED)])
    await connection.execute("UPDATE outcomes SET attempted_at = now(), status = 3")
    assert await advance_within_caps(connection, [await capped(connection, lease, ANA)])


async def test_a_cap_of_two_lets_the_second_message_pass_and_not_the_third(connection: Connection) -> None:
    lease = await take_lease(connection, SLOW, another_process())
    granted = [
        bool(await advance_within_caps(connection, [await capped(connection, lease, phone, TWICE)]))
        for phone in (ANA, ANA_TOO, ANA)
    ]
    assert granted == [True, True, False]


async def test_one_statement_claims_one_person_once(connection: Connection) -> None:
    leases: Sequence[Lease] = [
        await take_lease(connection, number, another_process()) for number in (SLOW, FAST)
    ]
    both = [
        await capped(connection, lease, phone) for lease, phone in zip(leases, (ANA, ANA_TOO), strict=True)
    ]
    assert len(await advance_within_caps(connection, both)) == 1


async def test_two_processes_claim_one_person_once(pool: Pool, connection: Connection) -> None:
    slow, fast = [await take_lease(connection, number, another_process()) for number in (SLOW, FAST)]
    first, second = await capped(connection, slow, ANA), await capped(connection, fast, ANA)
    async with pool.acquire() as elsewhere, pool.acquire() as watching:
        async with counting(connection, capped=True):
            caps = {first.held.campaign_id: ONCE}
            assert not await over_cap(connection, first.candidates, caps)
            claim = asyncio.create_task(advance_within_caps(elsewhere, [second]))
            while not claim.done():
                if await watching.fetchval(
                    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
                ):
                    break
            assert await advance_within_caps(connection, [first])
        assert not await claim


async def retried(pool: Pool, lease: Lease, held: HeldRange) -> Sequence[Candidate]:
    """Whom a number that holds the range claims again; its campaign has a cap."""
    context = context_of(pool)
    running = RunningCampaign(held.campaign_id, "c", [], 2, [SLOW], SendingHours(), ZoneInfo("UTC"), cap=ONCE)
    context.campaign_cache.start(running)
    feeder = Feeder(pool, lease, context.campaign_cache)
    feeder.held[held.range_id] = held
    retries = Retries(context, lease, feeder, PairGuard(), NumberQuota(context, SLOW))
    granted = await retries.claim(monotonic_ns(), 10)
    return granted.candidates


async def test_a_later_attempt_is_capped_too(pool: Pool, connection: Connection) -> None:
    """The person got another message while the first attempt waited."""
    lease = await take_lease(connection, SLOW, another_process())
    waits = await claimed(connection, ANA, lease)
    await record(connection, [fact(waits, lease, FactKind.DEFERRED)])
    await claimed(connection, ANA, lease)
    assert not await retried(pool, lease, waits)
    row = await connection.fetchrow(
        "SELECT state, reason FROM recipient_states WHERE range_id = $1", waits.range_id
    )
    assert row is not None and tuple(row) == ("skipped", "frequency cap: 1 in 7 d")
