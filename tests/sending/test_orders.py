"""What the flows of a process have done in the database: once for each campaign and number, whatever is told."""

import asyncio
from typing import cast

import pytest

from engine.api.transport import Transport
from engine.breaker import Breaker
from engine.core.states import CampaignEvent
from engine.process.settings import ServiceSettings
from engine.sending.campaign_cache import CampaignCache
from engine.sending.claim_batcher import ClaimBatcher
from engine.sending.flow_context import AccountStop, CampaignPause, FlowContext, NumberRest
from engine.sending.results_writer import ResultsWriter
from engine.sending.worker import Worker
from engine.store.campaign_states import apply_event
from engine.store.database import Connection, Pool
from tests.sending.planted import SLOW, campaign_row, plant_campaign, plant_numbers


@pytest.fixture
async def context(pool: Pool) -> FlowContext:
    service = cast("ServiceSettings", None)
    campaign_cache = CampaignCache("chat", None)
    return FlowContext(
        pool, service, "abcdefgh", campaign_cache, ResultsWriter(pool), ClaimBatcher(pool), Breaker()
    )


@pytest.fixture
async def worker(context: FlowContext) -> Worker:
    return Worker(context, cast("Transport", None), [], None, asyncio.Event().wait)  # type: ignore[arg-type]


async def test_one_order_whatever_each_recipients_detail_says(context: FlowContext) -> None:
    for seq in range(100):
        context.order(CampaignPause(1, f"parameter {seq} does not fit"))
        context.order(NumberRest("1055", f"registered by {seq}", 60.0))
        context.order(AccountStop(f"trace {seq}"))
    context.order(CampaignPause(2, "another"))
    first = [order.reason for order in context.orders.values()]
    assert first == ["parameter 0 does not fit", "registered by 0", "trace 0", "another"]
    assert context.has_order_for("1055") and not context.has_order_for("1056")


async def test_of_two_rests_the_longer_one_counts(
    context: FlowContext, worker: Worker, other: Connection
) -> None:
    await plant_numbers(other, **{SLOW: 80})
    for reason, wait_s in (("a while", 60.0), ("for good", 1e8), ("not so long", 600.0)):
        context.order(NumberRest(SLOW, reason, wait_s))
    await worker._carry_out_orders(other)
    assert await other.fetchval("SELECT suspended_reason FROM numbers") == "for good"
    assert not context.orders


async def test_a_campaign_that_a_person_resumes_before_the_next_look_sends_again(
    context: FlowContext, worker: Worker, other: Connection
) -> None:
    campaign_id = (await plant_campaign(other)).campaign_id
    await context.campaign_cache.refresh(other)
    assert context.campaign_cache.sends(campaign_id)
    for order in (CampaignPause(campaign_id, "refused"), AccountStop("the token")):
        context.campaign_cache.stop(campaign_id)
        context.order(order)
        await worker._carry_out_orders(other)
        assert (await campaign_row(other, campaign_id))[0] == "paused"
        assert not context.campaign_cache.sends(campaign_id)
        await apply_event(other, campaign_id, CampaignEvent.RESUME, "")
        await context.campaign_cache.refresh(other)
        assert context.campaign_cache.sends(campaign_id)
