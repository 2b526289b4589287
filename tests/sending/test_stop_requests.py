"""Stop requests of the numbers of a process: stored once per campaign and number, whatever their reasons say."""

from zoneinfo import ZoneInfo

import pytest

from drumbeat.engine.core.limits.sending_hours import SendingHours
from drumbeat.engine.core.states import CampaignEvent, ReasonCode
from drumbeat.engine.core.stops import AccountStop, CampaignPause, NumberRest
from drumbeat.engine.sending.campaign_cache import CampaignCache
from drumbeat.engine.sending.campaign_reader import CampaignReader
from drumbeat.engine.sending.messages import RunningCampaign
from drumbeat.engine.sending.stop_requests import StopRequests
from drumbeat.engine.store.campaign_states import apply_event
from drumbeat.engine.store.database import Connection
from tests.sending.planted import SLOW, campaign_row, plant_campaign, plant_numbers

REFUSED = ReasonCode.TEMPLATE_REFUSED


@pytest.fixture
def campaign_cache() -> CampaignCache:
    return CampaignCache()


@pytest.fixture
async def stop_requests(campaign_cache: CampaignCache) -> StopRequests:
    return StopRequests(campaign_cache)


async def test_requests_that_differ_only_in_their_reason_are_one(
    campaign_cache: CampaignCache, stop_requests: StopRequests
) -> None:
    campaign_cache.start(RunningCampaign(1, "c", [], 0, [SLOW], SendingHours(), ZoneInfo("UTC")))
    for seq in range(100):
        stop_requests.add(CampaignPause(1, f"parameter {seq} does not fit", REFUSED))
        stop_requests.add(NumberRest("1055", f"registered by {seq}", 60.0))
        stop_requests.add(AccountStop(f"trace {seq}", REFUSED))
    stop_requests.add(CampaignPause(2, "another", REFUSED))
    first = [request.reason for request in stop_requests.waiting.values()]
    assert first == ["parameter 0 does not fit", "registered by 0", "trace 0", "another"]
    assert stop_requests.has_rest_for("1055") and not stop_requests.has_rest_for("1056")


async def test_a_late_refusal_of_the_account_stops_nothing_that_starts_later(
    stop_requests: StopRequests,
) -> None:
    """Every campaign is stopped already, and the reply to a request before that comes now."""
    stop_requests.add(AccountStop("the token has expired", REFUSED))
    assert not stop_requests.waiting


async def test_of_two_rests_the_longer_one_counts(stop_requests: StopRequests, other: Connection) -> None:
    await plant_numbers(other, **{SLOW: 80})
    for reason, wait_s in (("a while", 60.0), ("for good", None), ("not so long", 600.0)):
        stop_requests.add(NumberRest(SLOW, reason, wait_s))
    await stop_requests.store(other)
    row = await other.fetchrow("SELECT suspended_reason, stopped, suspended_until FROM numbers")
    assert row is not None
    assert tuple(row) == ("for good", True, None)
    assert not stop_requests.waiting


async def test_a_campaign_that_a_person_resumes_before_the_next_read_sends_again(
    campaign_cache: CampaignCache, stop_requests: StopRequests, other: Connection
) -> None:
    campaign_id = (await plant_campaign(other)).campaign_id
    reader = CampaignReader(campaign_cache, "chat", None)
    await reader.refresh(other)
    assert campaign_cache.sends(campaign_id)
    for request in (CampaignPause(campaign_id, "refused", REFUSED), AccountStop("the token", REFUSED)):
        campaign_cache.stop(campaign_id)
        stop_requests.add(request)
        await stop_requests.store(other)
        assert (await campaign_row(other, campaign_id))[0] == "paused"
        assert not campaign_cache.sends(campaign_id)
        await apply_event(other, campaign_id, CampaignEvent.RESUME, "")
        await reader.refresh(other)
        assert campaign_cache.sends(campaign_id)
