"""A start at once passes the start page, or the flag of the interface; and a campaign has one name for every request."""

import asyncio
from typing import Any

import pytest

from drumbeat.campaigns.console.web.operations import PREFIX
from drumbeat.engine.store.database import Pool
from tests.console.conftest import BAD_CODE, PHONE, Caller
from tests.console.test_steering import upload

AUTUMN, API = "/campaigns/autumn", f"{PREFIX}/campaigns/autumn"
PAST, LATER = "2020-01-01T09:00:00+00:00", "2099-01-01T09:00:00+00:00"
PASSES = "UPDATE campaigns SET start_at = now() - interval '1 minute' WHERE name = 'autumn'"


async def state(pool: Pool) -> str:
    return str(await pool.fetchval("SELECT state FROM campaigns WHERE name = 'autumn'"))


@pytest.fixture
async def draft(manager: Caller) -> None:
    await upload(manager, "autumn", f"+{PHONE + 40},Ana,A1\n", start_at=LATER)


@pytest.fixture
async def scheduled(manager: Caller, draft: None) -> None:
    assert (await manager.post(f"{AUTUMN}/launch", data={"waits": "1"})).status == 303


def form(**changes: str) -> dict[str, str]:
    return {"start_at": "2099-01-01T09:00", "clock": "UTC", "number": "1001", **changes}


@pytest.mark.parametrize("typed", ["2020-01-01T09:00", ""], ids=["past", "none"])
async def test_a_form_that_would_start_it_leads_to_the_start_page(
    manager: Caller, pool: Pool, scheduled: None, typed: str
) -> None:
    refused = await manager.post(f"{AUTUMN}/edit", data=form(start_at=typed, max_failed="5%"))
    assert refused.status == 409 and f'href="{AUTUMN}/launch"' in refused.text
    assert 'value="5%"' in refused.text, "what was typed stays"
    found = await pool.fetchrow(
        "SELECT start_at > now() AS later, max_failed FROM campaigns WHERE name = 'autumn'"
    )
    assert found is not None and tuple(found) == (True, None)
    asked = await manager.get(f"{AUTUMN}/launch")
    assert asked.status == 200 and "it starts at once" in asked.text and "Start now" in asked.text
    assert await state(pool) == "scheduled"
    assert (await manager.post(f"{AUTUMN}/launch")).status == 303
    assert await pool.fetchval("SELECT start_at IS NULL FROM campaigns WHERE name = 'autumn'")


async def test_the_interface_needs_its_flag(manager: Caller, pool: Pool, scheduled: None) -> None:
    change: dict[str, Any] = {"changes": {"start_at": PAST}}
    refused = await manager("PATCH", API, json=change)
    assert (refused.status, refused.code) == (409, "starts_at_once")
    assert await pool.fetchval("SELECT start_at > now() FROM campaigns WHERE name = 'autumn'")
    assert (await manager("PATCH", API, json={**change, "now": True})).status == 200
    assert await pool.fetchval("SELECT start_at < now() FROM campaigns WHERE name = 'autumn'")


async def test_a_pause_that_outlasts_the_start_is_lifted_on_the_start_page(
    manager: Caller, pool: Pool, scheduled: None
) -> None:
    await manager.post(f"{AUTUMN}/act/pause")
    await pool.execute(PASSES)
    refused = await manager.post(f"{API}/resume")
    assert (refused.status, refused.code) == (409, "starts_at_once")
    led = await manager.post(f"{AUTUMN}/act/resume")
    assert (led.status, led.headers["Location"]) == (303, f"{AUTUMN}/launch")
    assert await state(pool) == "paused"
    asked = await manager.get(f"{AUTUMN}/launch")
    assert asked.status == 200 and "has passed: it starts as soon as you start it" in asked.text
    assert (await manager.post(f"{AUTUMN}/launch")).status == 303
    assert await state(pool) == "running"


async def test_a_resume_of_the_interface_may_say_now(manager: Caller, pool: Pool, scheduled: None) -> None:
    await manager.post(f"{API}/pause")
    assert (await manager.post(f"{API}/resume")).body["state"] == "scheduled"
    await manager.post(f"{API}/pause")
    await pool.execute(PASSES)
    assert (await manager.post(f"{API}/resume?now=true")).body["state"] == "running"


async def test_a_draft_that_was_paused_starts_on_the_start_page(
    manager: Caller, pool: Pool, campaign: str
) -> None:
    await manager.post(f"{PREFIX}/campaigns/spring/pause")
    assert 'href="/campaigns/spring/ask/resume"' in (await manager.get("/campaigns/spring")).text
    led = await manager.get("/campaigns/spring/ask/resume")
    assert (led.status, led.headers["Location"]) == (303, "/campaigns/spring/launch")
    stale = await manager.post("/campaigns/spring/act/resume")
    assert (stale.status, stale.headers["Location"]) == (303, "/campaigns/spring/launch")
    assert await pool.fetchval("SELECT state FROM campaigns WHERE name = 'spring'") == "paused"
    assert (await manager.post("/campaigns/spring/launch")).status == 303
    assert await pool.fetchval("SELECT state FROM campaigns WHERE name = 'spring'") == "running"


async def test_a_time_that_passes_while_the_start_page_is_read_is_asked_again(
    manager: Caller, pool: Pool, draft: None
) -> None:
    assert 'name="waits"' in (await manager.get(f"{AUTUMN}/launch")).text
    await pool.execute(PASSES)
    again = await manager.post(f"{AUTUMN}/launch", data={"waits": "1"})
    assert again.status == 200 and "has passed" in again.text and 'name="waits"' not in again.text
    assert await state(pool) == "draft"
    assert (await manager.post(f"{AUTUMN}/launch")).status == 303
    assert await state(pool) == "running"


async def test_a_draft_says_that_it_does_not_start_by_itself(
    manager: Caller, pool: Pool, draft: None
) -> None:
    assert "does not start by itself: if you start it, it waits until" in (await manager.get(AUTUMN)).text
    german = await manager.get(AUTUMN, headers={"Accept-Language": "de"})
    assert "beginnt nicht von selbst" in german.text
    assert (await manager("PATCH", API, json={"changes": {"start_at": PAST}})).status == 200
    assert [why["code"] for why in (await manager.get(API)).body["why"]] == ["draft_is_late"]


async def test_a_key_holds_for_the_campaign_by_either_of_its_names(manager: Caller, pool: Pool) -> None:
    """Else a program that repeats its request by the external id would make a second retry."""
    await pool.execute("UPDATE campaigns SET external_id = 'K-7'")
    key = {"Idempotency-Key": "k-1"}
    asked = {"code": [BAD_CODE]}
    first, again = [
        await manager.post(f"{PREFIX}/campaigns/{word}/retries", json=asked, headers=key)
        for word in ("spring", "external:K-7")
    ]
    assert first.body["name"] == "spring/retry-1" and first.body == again.body
    assert not again.body["unchanged"], "the stored reply"


async def test_retries_at_once_by_both_names_are_one(manager: Caller, pool: Pool) -> None:
    await pool.execute("UPDATE campaigns SET external_id = 'K-7'")
    replies = await asyncio.gather(
        *(
            manager.post(f"{PREFIX}/campaigns/{word}/retries", json={"all_codes": True})
            for word in ("spring", "K-7")
        )
    )
    assert {reply.body["name"] for reply in replies} == {"spring/retry-1"}
    assert await pool.fetchval("SELECT count(*) FROM retried_recipients") == 1
