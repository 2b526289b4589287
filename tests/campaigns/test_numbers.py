"""A stopped number: only `resume_number` lets it send again, and it says which campaigns still wait."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from drumbeat.campaigns.account.numbers import ResumedNumber, list_numbers, resume_number
from drumbeat.campaigns.life import control
from drumbeat.campaigns.life.stopped_numbers import StoppedNumber
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.campaigns.results.report import campaign_report
from drumbeat.engine.core.states import CampaignState, ReasonCode
from drumbeat.engine.errors import ConfigurationError, TryLater
from drumbeat.engine.store.campaign_states import CampaignEvent, apply_event
from drumbeat.engine.store.database import Pool
from drumbeat.engine.store.leases import stop, suspend
from tests.campaigns.conftest import PHONE, WriteAudience

WHY = "blocked (131031)"


@pytest.fixture
def audience(write_audience: WriteAudience) -> Path:
    return write_audience(f"phone\n{PHONE}\n")


@pytest.fixture
async def spring(ready: str, audience: Path) -> str:
    """A planned campaign of the numbers 1001 and 1002."""
    await create_campaign(ready, spec(audience, "spring"))
    return "spring"


def spec(audience: Path, name: str, *numbers: str, start_at: str | None = None) -> CampaignSpec:
    chosen = numbers or ("1001", "1002")
    return CampaignSpec(
        name=name,
        template="order",
        language="en",
        audience=audience,
        number=chosen,
        param=["=Hi", "=you"],
        start_at=start_at,
    )


async def stop_numbers(pool: Pool, *numbers: str) -> None:
    async with pool.acquire() as connection:
        for number in numbers:
            await stop(connection, number, WHY)


async def pause_for_stopped_numbers(pool: Pool, name: str) -> int:
    """As a worker does when the service has stopped every number."""
    async with pool.acquire() as connection:
        await control.start(connection, name)
        campaign = await control.find_campaign(connection, name)
        reason, code = f"every number is stopped: 1001: {WHY}", ReasonCode.NUMBERS_STOPPED
        await apply_event(connection, campaign.campaign_id, CampaignEvent.PAUSE, reason, code)
        return campaign.campaign_id


async def stopped(pool: Pool) -> list[str]:
    return [number.phone_number_id for number in await list_numbers(pool) if number.stopped]


async def test_a_resume_names_the_campaigns_that_wait_and_leaves_them_paused(
    pool: Pool, ready: str, spring: str, audience: Path
) -> None:
    await create_campaign(ready, spec(audience, "other", "1002"))
    for name in (spring, "other"):
        await pause_for_stopped_numbers(pool, name)
    await stop_numbers(pool, "1001", "1002")
    done = await resume_number(pool, "1001", actor="ana@ops")
    assert done == ResumedNumber("1001", WHY, (spring,))
    assert await stopped(pool) == ["1002"]
    async with pool.acquire() as connection:
        assert (await control.find_campaign(connection, spring)).state is CampaignState.PAUSED
        resumed = await control.resume(connection, spring)
    assert (resumed.state, resumed.stopped_numbers) == (CampaignState.RUNNING, (StoppedNumber("1002", WHY),))


async def test_who_resumed_a_number_stands_in_the_reports_of_its_campaigns(
    pool: Pool, ready: str, spring: str, audience: Path
) -> None:
    await create_campaign(ready, spec(audience, "other", "1002"))
    await stop_numbers(pool, "1001")
    await resume_number(pool, "1001", actor="ana@ops")
    await resume_number(pool, "1001", actor="bo@ops")  # changes nothing
    audits = {}
    for name in (spring, "other"):
        campaign_id = await pool.fetchval("SELECT campaign_id FROM campaigns WHERE name = $1", name)
        audits[name] = (await campaign_report(pool, campaign_id)).audits
    [audit] = audits[spring]
    assert (audit.actor, audit.action) == ("ana@ops", "number-resume")
    assert audit.detail == {"number": "1001", "reason": WHY, "command": "numbers resume"}
    assert audits["other"] == ()


async def test_a_rest_that_ends_by_itself_can_be_ended_before(pool: Pool, ready: str) -> None:
    async with pool.acquire() as connection:
        await suspend(connection, "1001", 3_600, "spam (131048)")
    assert (await resume_number(pool, "1001", actor="ana@ops")).reason == "spam (131048)"
    number = (await list_numbers(pool))[0]
    assert (number.suspended_until, number.suspended_reason) == (None, None)


async def test_a_number_that_nothing_stops_is_told_so_and_an_unknown_one_is_refused(
    pool: Pool, ready: str
) -> None:
    assert (await resume_number(pool, "1001", actor="ana@ops")).reason is None
    assert await pool.fetchval("SELECT count(*) FROM audit") == 0
    with pytest.raises(ConfigurationError, match=r"no number 9 .*numbers sync"):
        await resume_number(pool, "9", actor="ana@ops")


async def test_a_campaign_is_not_resumed_into_a_pause_and_lifts_no_stop(pool: Pool, spring: str) -> None:
    await pause_for_stopped_numbers(pool, spring)
    await stop_numbers(pool, "1001", "1002")
    async with pool.acquire() as connection:
        with pytest.raises(TryLater, match=f"1001: {WHY.split()[0]}.*`drumbeat numbers resume 1001`"):
            await control.resume(connection, spring)
        [left] = await control.resume_all(connection)
    assert (left.state, left.changed) == (CampaignState.PAUSED, False)
    assert "drumbeat numbers resume 1001" in left.stays_paused
    assert await stopped(pool) == ["1001", "1002"]


async def test_a_start_in_the_future_is_not_refused_for_numbers_that_are_stopped_now(
    pool: Pool, ready: str, spring: str, audience: Path
) -> None:
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    await create_campaign(ready, spec(audience, "later", start_at=tomorrow))
    await stop_numbers(pool, "1001", "1002")
    async with pool.acquire() as connection:
        with pytest.raises(TryLater, match="every number"):
            await control.start(connection, spring)
        assert (await control.find_campaign(connection, spring)).state is CampaignState.DRAFT
        later = await control.start(connection, "later")
    assert (later.state, later.nobody_sends) == (CampaignState.SCHEDULED, True)
    assert len(later.stopped_numbers) == 2
