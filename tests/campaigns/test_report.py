"""A report: what it says of rates."""

from pathlib import Path

import pytest

from campaigns.campaign import CampaignSpec
from campaigns.cli.words import report_lines
from campaigns.create import create_campaign
from campaigns.report import campaign_report
from engine.core.states import RecipientState
from engine.store.database import Pool
from tests.campaigns.conftest import PHONE, WriteAudience


@pytest.fixture
def audience(write_audience: WriteAudience) -> Path:
    return write_audience(f"phone\n{PHONE}\n")


@pytest.mark.parametrize(
    ("attempts", "active_s", "words"),
    [
        (1_168, 1.1, "sent for 1.1 s, too short for a rate, 1,168 requests"),
        (2_991, 3.0, "996.7/s of 1000/s (in 3.0 s), 2,991 requests"),
        (9_951, 10.0, "995.0/s of 1000/s (99.5 %), 9,951 requests"),
    ],
)
async def test_a_rate_is_told_where_the_time_is_long_enough_to_say(
    ready: str, pool: Pool, audience: Path, attempts: int, active_s: float, words: str
) -> None:
    spec = CampaignSpec("spring", "order", "en", audience, ("1001",), params=("=Hi", "=you"))
    created = await create_campaign(ready, spec)
    await pool.execute(
        "INSERT INTO campaign_numbers (campaign_id, phone_number_id, limit_per_s, attempts, active_s)"
        " VALUES ($1, '1001', 1000, $2, $3)",
        created.campaign_id,
        attempts,
        active_s,
    )
    report = await campaign_report(pool, created.campaign_id)
    assert words in "\n".join(report_lines(report))


async def test_reasons_are_bounded_in_each_state_and_add_up(
    ready: str, pool: Pool, write_audience: WriteAudience, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("campaigns.report.REASONS_MAX", 2)
    audience = write_audience("phone\n" + "".join(f"{PHONE + n}\n" for n in range(9)))
    spec = CampaignSpec("spring", "order", "en", audience, ("1001",), params=("=Hi", "=you"))
    created = await create_campaign(ready, spec)
    await pool.execute("UPDATE recipients SET skip_reason = 'reason ' || least(seq, 5)")
    report = await campaign_report(pool, created.campaign_id)
    assert [(one.reason, one.recipients) for one in report.reasons[RecipientState.SKIPPED]] == [
        ("reason 5", 5),
        ("reason 1", 1),
        ("(3 more reasons)", 3),
    ]
    assert "3  (3 more reasons)" in "\n".join(report_lines(report))
