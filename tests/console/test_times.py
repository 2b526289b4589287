"""Times are shown on one clock, which the page names: that of the browser, else that of the console."""

import re
from datetime import UTC, datetime
from pathlib import Path

from playwright.async_api import Browser, expect

from drumbeat.campaigns.console.web.language import texts_of
from drumbeat.engine.store.database import Pool
from tests.console.chromium import browser, needs_chromium, tab_of
from tests.console.conftest import console
from tests.console.plain_browser import browser_of

__all__ = ["browser"]  # a fixture

BERLIN = "Europe/Berlin"
NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)


def test_a_time_is_written_in_the_form_of_the_language_and_holds_the_moment() -> None:
    assert str(texts_of("en", BERLIN).time(NOON)) == (
        '<time datetime="2026-07-01T12:00:00+00:00" data-time="second">2026-07-01 14:00:00</time>'
    )
    assert ">01.07.2026, 14:00:00<" in texts_of("de", BERLIN).time(NOON)
    assert texts_of("en").time(NOON, BERLIN) == "2026-07-01 14:00 Europe/Berlin"


def test_a_text_with_a_time_keeps_other_values_harmless() -> None:
    texts = texts_of("en")
    found = texts("why.paused_by", actor="<b>ana</b>", time=texts.time(NOON))
    assert found.startswith("&lt;b&gt;ana&lt;/b&gt; paused it at <time ")


async def test_without_a_script_the_console_has_a_clock_and_names_it(
    pool: Pool, database_url: str, campaign: str, tmp_path: Path
) -> None:
    async with console(pool, database_url, tmp_path, console_zone=BERLIN) as url:
        found = (await (await browser_of(url)).get("/campaigns/spring")).text
    assert re.sub("<[^>]+>", "", found).count("Times are in Europe/Berlin.") == 1
    times = re.findall(r'<time datetime="([^"]+)" data-time="second">([^<]+)</time>', found)
    assert times
    assert all(
        texts_of("en", BERLIN).time(datetime.fromisoformat(at)).endswith(f">{text}</time>")
        for at, text in times
    )


@needs_chromium
async def test_the_clock_is_that_of_the_browser_also_when_figures_change(
    browser: Browser, pool: Pool, url: str
) -> None:
    page = await tab_of(browser, url, timezone_id="Asia/Tokyo")
    await page.goto("/campaigns/spring")
    await expect(page.get_by_text("Times are in Asia/Tokyo.")).to_be_visible()
    await pool.execute("UPDATE campaigns SET start_at = '2030-06-01T20:00Z', state = 'scheduled'")
    await expect(page.locator("[data-part] time").get_by_text("2030-06-02 05:00:00")).to_be_visible()


async def test_a_start_is_on_the_clock_of_the_campaign_if_it_has_one(
    pool: Pool, database_url: str, campaign: str, tmp_path: Path
) -> None:
    await pool.execute("UPDATE campaigns SET start_at = '2030-06-01T20:00Z'")
    async with console(pool, database_url, tmp_path, console_zone=BERLIN) as url:
        plain = await browser_of(url)
        assert ">2030-06-01 22:00:00</time>" in (await plain.get("/campaigns/spring/launch")).text
        await pool.execute('UPDATE campaigns SET options = options || \'{"time_zone": "Asia/Tokyo"}\'::jsonb')
        assert "2030-06-02 05:00 Asia/Tokyo" in (await plain.get("/campaigns/spring/launch")).text
