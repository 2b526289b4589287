"""How far a campaign is: who sends it, and how fast it is sent."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from drumbeat.campaigns.campaign import stored_code
from drumbeat.campaigns.cli.status import read_status
from drumbeat.campaigns.cli.status_text import status_lines
from drumbeat.campaigns.life import control as service
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.campaigns.results.status import CampaignStatus, NumberProgress, campaign_status, measured_per_s
from drumbeat.engine.core.states import CampaignState, ReasonCode, RecipientState
from drumbeat.engine.store.database import Pool


@pytest.fixture
async def spring(ready: str, spec: CampaignSpec) -> str:
    """A planned campaign of ten."""
    await create_campaign(ready, spec)
    return spec.name


async def test_a_running_campaign_that_nobody_sends_says_so(pool: Pool, spring: str) -> None:
    async with pool.acquire() as connection:
        await service.start(connection, spring)
        campaign_id = await connection.fetchval("SELECT campaign_id FROM campaigns")
        for lease, nobody_sends in (("now() - interval '1 s'", True), ("now() + interval '1 hour'", False)):
            await connection.execute(
                "UPDATE numbers SET owner = 'me', released = false, rate_per_s = 80, leased_until = " + lease
            )
            status = await campaign_status(pool, campaign_id)
            assert status.nobody_sends is status.as_json()["nobody_sends"] is nobody_sends
            assert (service.NOBODY_SENDS in "".join(status_lines(status))) is nobody_sends
            listed = await service.list_campaigns(connection)
            assert (listed[0].reason == service.NOBODY_SENDS) is nobody_sends
            assert (listed[0].reason_code is ReasonCode.NOBODY_SENDS) is nobody_sends
            assert status.eta_s is None, "the pace that is allowed is no rate"


async def test_a_rate_is_what_was_sent_between_two_readings(
    pool: Pool, spring: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await pool.execute("UPDATE campaigns SET state = 'running'")
    await pool.execute(
        "UPDATE numbers SET owner = 'me', released = false, rate_per_s = 80, leased_until = 'infinity'"
    )
    still = await read_status(pool, spring)
    assert (still.rate_per_s, still.eta_s) == (0.0, None)
    assert "rate" not in "".join(status_lines(still))

    async def send(_: float) -> None:
        await pool.execute(
            "INSERT INTO campaign_numbers (campaign_id, phone_number_id, limit_per_s, attempts)"
            " SELECT campaign_id, '1001', 80, 100000 FROM campaigns"
        )

    monkeypatch.setattr("drumbeat.campaigns.cli.status.asyncio.sleep", send)
    sent = await read_status(pool, spring)
    assert sent.rate_per_s is not None
    assert sent.rate_per_s > 80
    assert sent.eta_s is not None
    assert "/s, 0 s left" in "".join(status_lines(sent))
    everybody = replace(sent, counts={**dict.fromkeys(RecipientState, 0), RecipientState.READ: 10})
    assert "left" not in "".join(status_lines(everybody)), "nobody is"


def reading(attempts: int, last_attempt_s: float | None) -> CampaignStatus:
    moment = None if last_attempt_s is None else datetime.fromtimestamp(last_attempt_s, UTC)
    number = NumberProgress("1001", 80, 80, "me", attempts, 0, moment, False, None, None)
    counts = dict.fromkeys(RecipientState, 0)
    return CampaignStatus("x", CampaignState.RUNNING, "", None, 9, counts, None, None, None, (number,))


@pytest.mark.parametrize(
    ("before", "after", "rate_per_s"),
    [
        pytest.param(reading(100, 5.0), reading(180, 6.0), 80, id="steady"),
        pytest.param(reading(100, 5.0), reading(184, 6.05), 80, id="a batch more in the second look"),
        pytest.param(reading(100, 5.0), reading(110, 5.1), 10, id="it stopped in between"),
        pytest.param(reading(100, 5.0), reading(100, 5.0), 0, id="nothing sent"),
        pytest.param(reading(0, None), reading(40, 6.0), 40, id="it began in between"),
    ],
)
def test_the_rate_of_two_readings(before: CampaignStatus, after: CampaignStatus, rate_per_s: float) -> None:
    assert measured_per_s(before, after, 1.0) == pytest.approx(rate_per_s)


def test_a_reason_code_of_a_later_version_is_none() -> None:
    assert stored_code("expired") is ReasonCode.EXPIRED
    assert stored_code(None) is None
    assert stored_code("a_code_of_a_later_version") is None
