"""The pages in the system's Chromium: the main story, without a mouse, live, and without a script."""

import asyncio
import re
from pathlib import Path

from playwright.async_api import Browser, Page, Route, expect

from drumbeat.campaigns.console.web.roles import Role
from drumbeat.campaigns.console.web.users import store_user
from drumbeat.engine.store.database import Pool
from tests.console.chromium import browser, needs_chromium, page, require_accessible, tab_of
from tests.console.conftest import PHONE, console

__all__ = ["browser", "page"]  # fixtures
pytestmark = needs_chromium

PASSWORD = "a long enough password"


async def test_the_main_story(page: Page, pool: Pool) -> None:
    """From the list to a live campaign, paused, resumed, and to one person."""
    await page.goto("/")
    await page.get_by_role("link", name="spring").click()
    await expect(page.locator(".live")).to_have_text("live")
    await page.get_by_role("link", name="Start", exact=True).click()
    await expect(page.get_by_text("cannot be taken back")).to_be_visible()
    await page.get_by_role("button", name="Start now").click()
    await expect(page.locator("[data-part=state] .pill")).to_have_text("running")
    await expect(page.locator("#accepted")).to_have_text("1")
    await pool.execute("UPDATE range_counters SET accepted = 4 WHERE read = 1")  # as a sender would
    await expect(page.locator("#accepted")).to_have_text("5")
    await page.get_by_role("button", name="Pause").click()
    await expect(page.locator("[data-part=state] .pill")).to_have_text("paused")
    await expect(page.get_by_text(" paused it at ")).to_be_visible()
    await page.get_by_role("button", name="Resume").click()
    await expect(page.locator("[data-part=state] .pill")).to_have_text("running")
    await page.get_by_role("link", name="Failed", exact=True).click()
    await page.get_by_role("link", name=f"+{PHONE + 1}").click()
    await expect(page.get_by_text("Attempt 1")).to_be_visible()
    await page.go_back()
    await expect(page.get_by_role("heading", name="Recipients")).to_be_visible()


async def test_a_campaign_from_a_file_to_its_start(page: Page, pool: Pool, tmp_path: Path) -> None:
    """Upload a file with a bad row, map its columns, check, create, see the message, test it, start it."""
    file = tmp_path / "autumn list.csv"
    file.write_text(f"order;Handy;name\nB1;+{PHONE + 70};Bo\nB2;nonsense;Cy\n", "utf-8")
    await page.goto("/new")
    await page.get_by_label("A file with a header").set_input_files(file)
    await expect(page.get_by_role("columnheader", name="Handy").first).to_be_visible()
    await expect(page.get_by_label("Column of the phone numbers")).to_have_value("Handy")
    await require_accessible(page)
    await page.get_by_role("button", name="Check the rows").click()
    await page.get_by_label("Handy, row 3").fill(f"+{PHONE + 70}")
    await page.get_by_role("button", name="Correct and check again").click()
    await expect(page.get_by_text("All rows can be read.")).to_be_visible()
    await page.get_by_role("button", name="Drop all corrections").click()
    await expect(page.get_by_label("Handy, row 3")).to_have_value("nonsense")
    await require_accessible(page)
    await page.get_by_role("link", name="Go on without the bad rows").click()
    await require_accessible(page)
    await page.get_by_role("button", name="Use order").click()
    await expect(page.locator("#preview .bubble")).to_contain_text("Hello {{1}}, your order {{2}}")
    await page.get_by_label("{{1}}").first.select_option("column:name")
    await page.get_by_label("{{2}}").first.select_option("column:order")
    await expect(page.locator("#preview .bubble")).to_contain_text("Hello Bo, your order B1")
    await require_accessible(page)
    await page.get_by_role("button", name="Next: sending").click()
    await page.get_by_label("Name of the campaign").fill("autumn")
    await page.get_by_role("button", name="Check, and show time and cost").click()
    await expect(page.get_by_text("2 rows = 1 recipients + 1 bad rows + 0 repeated phones")).to_be_visible()
    await require_accessible(page)
    await page.get_by_role("button", name="Create the draft").click()
    await expect(page.get_by_text("One person gets the message order from Lantern")).to_be_visible()
    await expect(page.locator(".bubble")).to_contain_text("Hello Bo, your order B1")
    await require_accessible(page)
    await page.get_by_label("Phone numbers, one a line").fill(f"+{PHONE + 99}")
    await page.get_by_role("button", name="Send the test").click()
    await expect(page.get_by_role("link", name="autumn/test-1")).to_be_visible()
    await page.get_by_role("button", name="Start now").click()
    await expect(page.locator("[data-part=state] .pill")).to_have_text("running")
    actions = await pool.fetch(
        "SELECT action FROM audit WHERE action IN ('create', 'start') ORDER BY audit_id"
    )
    assert [row["action"] for row in actions] == ["create", "start", "start"]
    assert not any((tmp_path / "uploads").iterdir())


async def test_the_names_of_people_stay_texts(page: Page) -> None:
    await page.goto("/campaigns/spring/message")
    await expect(page.locator(".bubble")).to_contain_text("Hello Ana <b>0</b>, your order A0")
    await page.goto(f"/people/{PHONE}")
    await expect(page.get_by_text("Thank you <3")).to_be_visible()


async def test_a_campaign_is_steered_by_the_keyboard_alone(page: Page, pool: Pool) -> None:
    await page.goto("/campaigns/spring")
    await page.keyboard.press("Tab")
    await expect(page.locator(":focus")).to_have_text("Skip to the content")
    await page.keyboard.press("Enter")
    await page.keyboard.press("Tab")  # the pages of the campaign come first
    await expect(page.locator(":focus")).to_have_text("Results")
    while await page.locator(":focus").inner_text() != "Start":
        await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(re.compile("/launch$"))
    button = page.get_by_role("button", name="Start now")
    while not await button.evaluate("each => each === document.activeElement"):
        await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await expect(page.locator("[data-part=state] .pill")).to_have_text("running")


async def test_a_change_keeps_the_focus_and_what_is_open(page: Page, pool: Pool) -> None:
    await page.goto("/campaigns/spring")
    await expect(page.locator(".live")).to_have_text("live")
    await page.locator("[data-focus=start]").focus()
    await pool.execute("UPDATE campaigns SET reason = 'a new reason'")
    await expect(page.get_by_text("a new reason")).to_be_visible()
    assert await page.evaluate("document.activeElement.dataset.focus") == "start"


async def test_a_button_that_is_pressed_stays_until_it_is_released(page: Page, pool: Pool) -> None:
    """A click counts only on the element that was pressed: the state beside the button changes meanwhile."""
    await pool.execute("UPDATE campaigns SET state = 'running'")
    await page.goto("/campaigns/spring")
    state = page.locator("[data-part=state] .pill")
    await expect(page.locator(".live")).to_have_text("live")
    await page.get_by_role("button", name="Pause").hover()
    await page.mouse.down()
    await pool.execute("UPDATE campaigns SET state = 'scheduled', start_at = now() + interval '1 day'")
    await expect(page.locator("[data-part=figures]")).to_contain_text("Starts")
    await expect(state).to_have_text("running")
    await page.mouse.up()
    await expect(state).to_have_text("paused")


async def test_two_tabs_outlive_a_console_that_restarts(
    browser: Browser, pool: Pool, database_url: str, campaign: str, tmp_path: Path
) -> None:
    async with console(pool, database_url, tmp_path) as url:
        tabs = [await tab_of(browser, url) for _ in range(2)]
        for tab in tabs:
            await tab.goto("/campaigns/spring")
            await expect(tab.locator(".live")).to_have_text("live")
    for tab in tabs:
        await expect(tab.locator(".live")).to_have_text(re.compile("lost"))
    await pool.execute("UPDATE range_counters SET accepted = 2 WHERE read = 1")
    async with console(pool, database_url, tmp_path, port=int(url.rpartition(":")[2])):
        for tab in tabs:
            await expect(tab.locator("#accepted")).to_have_text("3", timeout=30_000)
            await expect(tab.locator(".live")).to_have_text("live")


async def test_where_a_proxy_holds_events_back_the_page_asks(page: Page, pool: Pool) -> None:
    held = asyncio.Event()

    async def hold(_: Route) -> None:
        await held.wait()

    await page.route("**/live/**", hold)
    await page.clock.install()
    await page.goto("/campaigns/spring")
    await pool.execute("UPDATE range_counters SET accepted = 2 WHERE read = 1")
    await page.clock.run_for(11_000)
    await expect(page.locator("#accepted")).to_have_text("3")
    await expect(page.locator(".live")).to_have_text("asks every few seconds")
    held.set()
    await page.unroute_all(behavior="ignoreErrors")


async def test_without_a_script_everything_can_be_read_and_done(
    browser: Browser, url: str, pool: Pool
) -> None:
    page = await tab_of(browser, url, java_script_enabled=False)
    await page.goto("/campaigns/spring")
    await expect(page.locator("#accepted")).to_have_text("1")
    await page.get_by_role("link", name="Start", exact=True).click()
    await page.get_by_role("button", name="Start now").click()
    await expect(page.locator("[data-part=state] .pill")).to_have_text("running")
    await page.get_by_role("button", name="Pause").click()
    await expect(page.locator("[data-part=state] .pill")).to_have_text("paused")


async def test_a_user_signs_in_and_sees_only_what_the_role_may(
    browser: Browser, pool: Pool, database_url: str, campaign: str, tmp_path: Path
) -> None:
    await store_user(pool, "ana", Role.LOOK, PASSWORD, actor="test")
    async with console(pool, database_url, tmp_path) as url:
        page = await tab_of(browser, url)
        await page.goto("/campaigns/spring")
        await page.get_by_label("Name").fill("ana")
        await page.get_by_label("Password").fill("not the password")
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.get_by_role("alert")).to_have_text("The name or the password is wrong.")
        await require_accessible(page)
        await page.get_by_label("Name").fill("ana")
        await page.get_by_label("Password").fill(PASSWORD)
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.get_by_role("heading", name="spring")).to_be_visible()
        await expect(page.get_by_role("link", name="Start", exact=True)).to_have_count(0)
        await page.get_by_role("button", name="Sign out").click()
        await expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


async def test_the_page_speaks_german(page: Page) -> None:
    await page.goto("/campaigns/spring")
    await page.get_by_role("button", name="Deutsch").click()
    await expect(page.get_by_role("link", name="Sperrliste")).to_be_visible()
    assert await page.evaluate("document.documentElement.lang") == "de"
    await expect(page.locator("[data-part=state] .pill")).to_have_text("Entwurf")
