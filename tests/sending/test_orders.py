"""What the flows of a process have done in the database: once for each campaign and number, whatever is told."""

import asyncio
from typing import cast

import pytest

from engine.api.transport import Transport
from engine.breaker import Breaker
from engine.core.states import CampaignEvent, ReasonCode
from engine.process.settings import ServiceSettings
from engine.sending.campaign_cache import CampaignCache
from engine.sending.claim_batcher import ClaimBatcher
from engine.sending.flow_context import AccountStop, CampaignPause, NumberRest, Shared
from engine.sending.results_writer import ResultsWriter
from engine.sending.worker import Worker
from engine.store.campaign_states import apply_event
from engine.store.database import Connection, Pool
from tests.sending.planted import SLOW, campaign_row, plant_campaign, plant_numbers

REFUSED = ReasonCode.TEMPLATE_REFUSED


@pytest.fixture
async def shared(pool: Pool) -> Shared:
    service = cast("ServiceSettings", None)
    campaign_cache = CampaignCache("chat", None)
    return Shared(
        pool, service, "abcdefgh", campaign_cache, ResultsWriter(pool), ClaimBatcher(pool), Breaker()
    )


@pytest.fixture
async def worker(shared: Shared) -> Worker:
    return Worker(shared, cast("Transport", None), [], None, asyncio.Event().wait)  # type: ignore[arg-type]


async def test_one_order_whatever_each_recipients_detail_says(shared: Shared) -> None:
    for seq in range(100):
        shared.order(CampaignPause(1, f"parameter {seq} does not fit", REFUSED))
        shared.order(NumberRest("1055", f"registered by {seq}", 60.0))
        shared.order(AccountStop(f"trace {seq}", REFUSED))
    shared.order(CampaignPause(2, "another", REFUSED))
    first = [order.reason for order in shared.orders.values()]
    assert first == ["parameter 0 does not fit", "registered by 0", "trace 0", "another"]
    assert shared.has_order_for("1055") and not shared.has_order_for("1056")


async def test_of_two_rests_the_longer_one_counts(shared: Shared, worker: Worker, other: Connection) -> None:
    await plant_numbers(other, **{SLOW: 80})
    for reason, wait_s in (("a while", 60.0), ("for good", None), ("not so long", 600.0)):
        shared.order(NumberRest(SLOW, reason, wait_s))
    await worker._carry_out_orders(other)
    row = await other.fetchrow("SELECT suspended_reason, stopped, suspended_until FROM numbers")
    assert row is not None
    assert tuple(row) == ("for good", True, None)
    assert not shared.orders


async def test_a_campaign_that_a_person_resumes_before_the_next_look_sends_again(
    shared: Shared, worker: Worker, other: Connection
) -> None:
    campaign_id = (await plant_campaign(other)).campaign_id
    await shared.campaign_cache.refresh(other)
    assert shared.campaign_cache.sends(campaign_id)
    for order in (CampaignPause(campaign_id, "refused", REFUSED), AccountStop("the token", REFUSED)):
        shared.campaign_cache.stop(campaign_id)
        shared.order(order)
        await worker._carry_out_orders(other)
        assert (await campaign_row(other, campaign_id))[0] == "paused"
        assert not shared.campaign_cache.sends(campaign_id)
        await apply_event(other, campaign_id, CampaignEvent.RESUME, "")
        await shared.campaign_cache.refresh(other)
        assert shared.campaign_cache.sends(campaign_id)
