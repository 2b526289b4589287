"""The first page: the first steps, what needs a person, what runs, what starts next, and the week."""

from __future__ import annotations

from playwright.async_api import Page, expect

from drumbeat.engine.store.database import Pool
from tests.console.chromium import browser, needs_chromium, page, require_accessible
from tests.console.conftest import Caller, console

__all__ = ["browser", "console", "page"]  # fixtures


async def test_it_shows_what_runs_starts_next_and_waits(manager: Caller, pool: Pool) -> None:
    before = await manager.get("/")
    assert "Not started yet" in before.text and "No campaign started in these days." in before.text
    await pool.execute("UPDATE campaigns SET state = 'running', started_at = now() WHERE name = 'spring'")
    assert (await manager.get("/live/home")).status == 200
    shown = (await manager.get("/")).text
    assert "Needs a person" in shown, "it runs, and nobody sends"
    assert "Not started yet" not in shown
    await pool.execute(
        "UPDATE campaigns SET state = 'scheduled', start_at = now() + interval '2 days', started_at = NULL"
    )
    assert "Starts next" in (await manager.get("/")).text


async def test_the_week_adds_up_the_campaigns_that_started(manager: Caller, pool: Pool) -> None:
    await pool.execute("UPDATE campaigns SET state = 'finished', started_at = now() - interval '6 days'")
    recipients = await pool.fetchval("SELECT recipients FROM campaigns")
    shown = (await manager.get("/")).text
    assert f"<dt>People</dt><dd><b>{recipients}</b>" in shown


async def test_an_older_campaign_is_not_of_the_week(manager: Caller, pool: Pool) -> None:
    await pool.execute("UPDATE campaigns SET state = 'finished', started_at = now() - interval '8 days'")
    assert "No campaign started in these days." in (await manager.get("/")).text


async def test_a_new_installation_is_led_through_its_first_steps(manager: Caller, pool: Pool) -> None:
    assert "The first steps" not in (await manager.get("/")).text
    await pool.execute("TRUNCATE campaigns, templates CASCADE")
    shown = (await manager.get("/")).text
    assert "The first steps" in shown and "Your first campaign" in shown
    assert shown.count(">done<") == 1, "only the numbers are there"


async def test_campaigns_are_found_by_a_part_of_their_name(manager: Caller) -> None:
    for part, status in (("PRI", True), ("winter", False), ("%", False), ("", True)):
        names = [
            each["name"]
            for each in (await manager.get("/api/v1/campaigns", params={"q": part})).body["campaigns"]
        ]
        assert (names == ["spring"]) is status, part
        assert (
            '/campaigns/spring"'
            in (await manager.get("/campaigns", params={"q": part, "state": "draft"})).text
        ) is status


@needs_chromium
async def test_one_button_opens_the_menu_on_a_phone(page: Page) -> None:
    await page.set_viewport_size({"width": 390, "height": 800})
    await page.goto("/")
    link = page.get_by_role("link", name="Templates").first
    await expect(page.get_by_role("navigation", name="Main")).to_be_hidden()
    await page.get_by_role("button", name="Menu").click()
    await expect(page.get_by_role("navigation", name="Main")).to_be_visible()
    await require_accessible(page)
    await link.click()
    await expect(page.get_by_role("heading", name="Templates")).to_be_visible()
