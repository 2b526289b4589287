"""What the service says of numbers, templates and the account is stored, told once, and holds what cannot be sent."""

import asyncio
from typing import Any

import pytest

from drumbeat.campaigns.results.status import campaign_status
from drumbeat.engine.store.database import Pool
from drumbeat.engine.store.service_facts import tell_news
from drumbeat.engine.webhooks.account import act
from tests.kit.account_events import plant_template
from tests.kit.planted import NUMBER, plant_campaign
from tests.webhooks.conftest import running
from tests.webhooks.conversation import ask, change_body, post

OFFER = {"message_template_name": "offer", "message_template_language": "pt_BR"}
ACCOUNT_EVENTS = {
    "disabled": ({"event": "DISABLED_UPDATE", "ban_info": {"waba_ban_state": "DISABLE"}}, True),
    "disabled soon": (
        {"event": "DISABLED_UPDATE", "ban_info": {"waba_ban_state": "SCHEDULE_FOR_DISABLE"}},
        True,
    ),
    "restricted": ({"event": "ACCOUNT_RESTRICTION", "restriction_info": [{"restriction_type": "R"}]}, True),
    "restricted, no more said": ({"event": "account_restriction"}, True),
    "violation": ({"event": "ACCOUNT_VIOLATION"}, False),
    "a new word": ({"event": "SOMETHING_NEW"}, False),
}


async def receive(pool: Pool, field: str, value: dict[str, Any], account: str = "1") -> None:
    body = change_body(field, value).replace(b'"id":"1"', f'"id":"{account}"'.encode())
    async with running(pool, accounts=("1",)) as receiver:  # type: ignore[arg-type]
        assert (await ask(receiver.url, post(body))).status == 200


async def tell(pool: Pool) -> list[tuple[str, str]]:
    """Act, tell, and return what was told so far: code and words."""
    async with pool.acquire() as connection:
        while await act(connection):
            pass
        await tell_news(connection)
    rows = await pool.fetch(
        "SELECT reason_code, reason FROM notifications WHERE event = 'warning' ORDER BY notification_id"
    )
    return [tuple(row) for row in rows]


async def plant(pool: Pool) -> int:
    async with pool.acquire() as connection:
        await plant_template(connection)
        return await plant_campaign(connection)


@pytest.mark.parametrize("case", ACCOUNT_EVENTS)
async def test_the_account_holds_its_campaigns_and_people_are_told_once(pool: Pool, case: str) -> None:
    value, holds = ACCOUNT_EVENTS[case]
    campaign = await plant(pool)
    for _ in range(2):
        await receive(pool, "account_update", value)
        ((code, words),) = await tell(pool)
    assert code == "account_warning"
    status = await campaign_status(pool, campaign)
    assert status.state == ("paused" if holds else "running")
    if holds:
        assert (status.reason, status.reason_code) == (words, "account_refused")
    assert "account_warned" in [why.code for why in status.why]


async def test_another_account_changes_nothing(pool: Pool) -> None:
    campaign = await plant(pool)
    for field, value in (
        ("account_update", {"event": "DISABLED_UPDATE"}),
        ("account_review_update", {"decision": "REJECTED"}),
        ("message_template_quality_update", {**OFFER, "new_quality_score": "RED"}),
        ("template_category_update", {**OFFER, "new_category": "MARKETING"}),
        ("message_template_status_update", {**OFFER, "event": "FLAGGED"}),
    ):
        await receive(pool, field, value, account="999")
    assert await tell(pool) == []
    status = await campaign_status(pool, campaign)
    assert (status.state, status.why) == ("running", [])
    assert await pool.fetchval("SELECT count(*) FROM service_facts WHERE word = 'MARKETING'") == 0


@pytest.mark.parametrize(
    ("field", "value", "code", "why"),
    [
        (
            "message_template_quality_update",
            {"new_quality_score": "RED"},
            "template_quality_fell",
            "template_quality",
        ),
        ("message_template_status_update", {"event": "FLAGGED"}, "template_flagged", "template_flagged"),
    ],
)
async def test_a_template_that_gets_worse_is_told_and_goes_on(
    pool: Pool, field: str, value: dict[str, Any], code: str, why: str
) -> None:
    campaign = await plant(pool)
    await receive(pool, field, {**OFFER, **value})
    ((told, words),) = await tell(pool)
    assert told == code and "offer (pt_BR)" in words
    status = await campaign_status(pool, campaign)
    assert status.state == "running" and why in [each.code for each in status.why]
    assert await pool.fetchval("SELECT status FROM templates") == "APPROVED"


async def test_a_template_that_moves_to_another_category_is_told_with_both(pool: Pool) -> None:
    await plant(pool)
    await pool.execute("UPDATE templates SET category = 'UTILITY'")
    assert await tell(pool) == []
    await receive(pool, "template_category_update", {**OFFER, "new_category": "MARKETING"})
    ((code, words),) = await tell(pool)
    assert code == "category_changed" and "from UTILITY to MARKETING" in words
    assert await pool.fetchval("SELECT category FROM templates") == "MARKETING"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ("quality_rating = 'RED'", "quality_fell"),
        ("messaging_limit_tier = 'TIER_250'", "tier_fell"),
        ("messaging_limit_tier = 'TIER_HUGE'", "tier_unknown"),
        ("suspended_until = now() + interval '1 day', suspended_reason = 'spam'", "number_rests"),
    ],
)
async def test_whatever_changes_a_number_is_told_once(pool: Pool, change: str, code: str) -> None:
    await plant(pool)
    await pool.execute(
        "UPDATE numbers SET quality_rating = 'GREEN', messaging_limit_tier = 'TIER_10K', display_phone_number = '+1 5'"
    )
    assert await tell(pool) == []
    await pool.execute(f"UPDATE numbers SET {change} WHERE phone_number_id = $1", NUMBER)
    for _ in range(3):
        ((told, words),) = await tell(pool)
    assert told == code and "number +1 5" in words
    assert await pool.fetchval("SELECT phone_number_id FROM notifications") == NUMBER


async def test_two_who_look_at_once_tell_it_once(pool: Pool) -> None:
    await plant(pool)
    await receive(pool, "account_review_update", {"decision": "REJECTED"})
    async with pool.acquire() as one, pool.acquire() as other:
        await act(one)
        assert sorted(await asyncio.gather(tell_news(one), tell_news(other))) == [0, 1]
    assert len(await tell(pool)) == 1
