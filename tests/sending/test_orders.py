"""What the numbers of a process order: carried out once per campaign and number, whatever the reasons say."""

import pytest

from engine.core.states import CampaignEvent, ReasonCode
from engine.sending.campaign_cache import CampaignCache
from engine.sending.campaign_reader import CampaignReader
from engine.sending.orders import AccountStop, CampaignPause, NumberRest, Orders
from engine.store.campaign_states import apply_event
from engine.store.database import Connection
from tests.sending.planted import SLOW, campaign_row, plant_campaign, plant_numbers

REFUSED = ReasonCode.TEMPLATE_REFUSED


@pytest.fixture
def campaign_cache() -> CampaignCache:
    return CampaignCache()


@pytest.fixture
async def orders(campaign_cache: CampaignCache) -> Orders:
    return Orders(campaign_cache)


async def test_one_order_whatever_each_recipients_detail_says(orders: Orders) -> None:
    for seq in range(100):
        orders.give(CampaignPause(1, f"parameter {seq} does not fit", REFUSED))
        orders.give(NumberRest("1055", f"registered by {seq}", 60.0))
        orders.give(AccountStop(f"trace {seq}", REFUSED))
    orders.give(CampaignPause(2, "another", REFUSED))
    first = [order.reason for order in orders.waiting.values()]
    assert first == ["parameter 0 does not fit", "registered by 0", "trace 0", "another"]
    assert orders.has_rest_for("1055") and not orders.has_rest_for("1056")


async def test_of_two_rests_the_longer_one_counts(orders: Orders, other: Connection) -> None:
    await plant_numbers(other, **{SLOW: 80})
    for reason, wait_s in (("a while", 60.0), ("for good", None), ("not so long", 600.0)):
        orders.give(NumberRest(SLOW, reason, wait_s))
    await orders.carry_out(other)
    row = await other.fetchrow("SELECT suspended_reason, stopped, suspended_until FROM numbers")
    assert row is not None
    assert tuple(row) == ("for good", True, None)
    assert not orders.waiting


async def test_a_campaign_that_a_person_resumes_before_the_next_look_sends_again(
    campaign_cache: CampaignCache, orders: Orders, other: Connection
) -> None:
    campaign_id = (await plant_campaign(other)).campaign_id
    reader = CampaignReader(campaign_cache, "chat", None)
    await reader.refresh(other)
    assert campaign_cache.sends(campaign_id)
    for order in (CampaignPause(campaign_id, "refused", REFUSED), AccountStop("the token", REFUSED)):
        campaign_cache.stop(campaign_id)
        orders.give(order)
        await orders.carry_out(other)
        assert (await campaign_row(other, campaign_id))[0] == "paused"
        assert not campaign_cache.sends(campaign_id)
        await apply_event(other, campaign_id, CampaignEvent.RESUME, "")
        await reader.refresh(other)
        assert campaign_cache.sends(campaign_id)
