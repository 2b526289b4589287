"""The page of one campaign's results, and the same as one file: what they say, and that reading them blocks nobody."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from drumbeat.campaigns.console.campaigns import result_readings
from drumbeat.campaigns.console.campaigns.result_readings import ResultReadings
from drumbeat.campaigns.console.web.roles import Role
from drumbeat.campaigns.console.web.users import add_token
from drumbeat.campaigns.results.results import CampaignResults
from drumbeat.engine.core.pricing import pricing_code
from drumbeat.engine.store.database import Pool
from tests.console.chromium import browser, needs_chromium, page, require_accessible, tab_of
from tests.console.conftest import BAD_CODE, NUMBER, OTHER_NUMBER, Caller, console

__all__ = ["browser", "page"]  # fixtures
RESULTS = "/campaigns/spring/results"


async def counted(manager: Caller, path: str = RESULTS) -> str:
    """The page once its results are read."""
    while "As of" not in (reply := await manager.get(path)).text:
        assert reply.status == 200
    return reply.text


@pytest.fixture
async def sent(pool: Pool, campaign: str) -> None:
    """Two numbers sent, and the first one's only message that came took 10 s to arrive and 2 min to be read."""
    await pool.execute(
        "UPDATE outcomes SET delivered_at = attempted_at + interval '10 s', read_at = attempted_at + interval '2 min'"
        " WHERE status = 5"
    )
    await pool.execute(
        "UPDATE campaign_numbers SET first_attempt_at = now() - interval '1 min', last_attempt_at = now()"
    )
    await pool.execute("UPDATE campaigns SET started_at = now() - interval '1 min'")
    await pool.execute("UPDATE outcomes SET phone_number_id = $1 WHERE kind = 2", OTHER_NUMBER)


@pytest.mark.parametrize(
    ("prices", "cells"),
    [
        ("*,MARKETING,12.50,EUR,2026-01-02", "1 12.50 EUR"),
        ("not a price", "1"),
    ],
)
async def test_the_results_say_what_it_cost(
    pool: Pool, database_url: str, sent: None, tmp_path: Path, prices: str, cells: str
) -> None:
    """Without a table that can be read: what the service charges for."""
    charged = pricing_code({"category": "marketing", "billable": True})
    await pool.execute("UPDATE outcomes SET pricing = $1 WHERE kind = 1", charged)
    table = tmp_path / "prices.csv"
    table.write_text(f"country,category,price,currency,date\n{prices}\n", "utf-8")
    async with console(pool, database_url, tmp_path, prices=table) as url:
        text = await counted(Caller(url, await add_token(pool, "all", Role.LOOK, actor="test")))
    (row,) = re.findall(r"<tr><th[^>]*>Marketing.*?</tr>", text)
    assert re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", row)).strip() == f"Marketing {cells}"
    assert ("not known without a table" in text) == (cells == "1")


@pytest.fixture
async def file(sent: None, manager: Caller) -> str:
    """The report as a file."""
    await counted(manager)
    return (await manager.get("/campaigns/spring/report.html")).text


async def test_the_results_say_how_far_how_fast_and_why_not(sent: None, manager: Caller) -> None:
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", await counted(manager)))
    assert "Half of the messages took 10 s or less" in text
    assert re.search(r"Half of the messages took (1 min 5\d s|2 min \d s) or less", text)
    assert re.search(rf"{BAD_CODE} undeliverable", text)
    assert "One recipient is in doubt" in text
    assert re.search(r"Replied 1 10.0 % · latest at", text)
    assert "Requests a second of each number, from" in text
    assert "Variants" not in text, "it has none"


async def test_a_property_has_a_view_of_its_own(sent: None, manager: Caller) -> None:
    text = await counted(manager, f"{RESULTS}?by=number")
    rows = re.findall(r'<tr><th scope="row">([^<]*)</th><td class="num">(\d+)</td>', text)
    assert set(rows) == {("none yet", "8"), (NUMBER, "1"), (OTHER_NUMBER, "1")}
    assert (await manager.get(f"{RESULTS}?by=phone")).status == 422


async def test_messages_beyond_people_are_explained(sent: None, pool: Pool, manager: Caller) -> None:
    """A person whose message failed after it was accepted got another one."""
    await pool.execute("UPDATE campaign_numbers SET accepted = 3")
    for text in (await counted(manager), (await manager.get("/campaigns/spring")).text):
        assert "Accepted counts messages: 2 of them failed later" in text
    assert "and not failed" in await counted(manager, f"{RESULTS}?by=number")


async def test_the_list_has_the_figures_of_the_campaign(sent: None, pool: Pool, manager: Caller) -> None:
    """Of pruned months too; and a message whose reply was lost counts as accepted."""
    await pool.execute(
        "INSERT INTO audit (actor, action, campaign_id, detail) SELECT 'ana', 'prune', campaign_id, $1 FROM campaigns",
        {"recipients": 6, "deferred": 0, "accepted": 0, "sent": 1, "delivered": 2, "read": 1, "failed": 2}
        | {"unknown": 0, "skipped": 0},
    )
    await pool.execute("UPDATE campaign_numbers SET accepted = 0")
    (listed,) = (await manager.get("/api/v1/campaigns")).body["campaigns"]
    figures = {name: listed[name] for name in ("accepted", "delivered", "read", "failed")}
    assert figures == {"accepted": 5, "delivered": 4, "read": 2, "failed": 3}
    one = (await manager.get("/campaigns/spring")).text
    assert re.search(r'id="accepted">5<', one)
    assert re.search(r">5 of 10<.*>4<.*>2<.*>3<", (await manager.get("/campaigns")).text, re.DOTALL)


async def test_the_file_loads_nothing_and_has_all_tables(file: str) -> None:
    assert not re.search(r"<script|<link|\bsrc=|\bhref=|url\(|@import|style=", file)
    assert "How far the messages came" in file and "By number" in file
    assert "default-src 'none'" in file


@pytest.fixture
def released(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Readings stay at four recipients until it is set."""
    released = asyncio.Event()
    read = result_readings.campaign_results

    async def wait(*given: Any, **options: Any) -> CampaignResults:
        options["note"](4)
        await released.wait()
        return await read(*given, **options)

    monkeypatch.setattr(result_readings, "campaign_results", wait)
    return released


async def test_before_it_is_read_a_download_leads_to_the_page(
    campaign: str, manager: Caller, released: asyncio.Event
) -> None:
    """And nobody waits for the reading, however long it takes."""
    assert "10 recipients are being counted" in (reply := await manager.get(RESULTS)).text
    assert "40.0 %" in reply.text
    reply = await manager.get("/campaigns/spring/report.html")
    assert (reply.status, reply.headers["Location"]) == (303, RESULTS)
    released.set()
    assert "Results" in await counted(manager)


async def test_many_who_look_cost_one_reading(
    pool: Pool, campaign: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = []
    read = result_readings.campaign_results

    async def note(pool: Pool, campaign_id: int, *given: Any, **options: Any) -> CampaignResults:
        began.append(campaign_id)
        return await read(pool, campaign_id, *given, **options)

    monkeypatch.setattr(result_readings, "campaign_results", note)
    campaign_id = await pool.fetchval("SELECT campaign_id FROM campaigns")
    readings = ResultReadings(pool)
    looks = await asyncio.gather(*(readings.look(campaign_id) for _ in range(50)))
    await readings.close()
    assert len(began) == 1
    assert len({id(look) for look in looks}) == 1


async def test_a_reading_that_fails_is_tried_again(
    pool: Pool, campaign: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(result_readings, "FRESH_S", 0.0)
    monkeypatch.setattr(result_readings, "REST", 0)
    readings = ResultReadings(pool)
    assert (await readings.look(999)).results is None
    campaign_id = await pool.fetchval("SELECT campaign_id FROM campaigns")
    while (reading := await readings.look(campaign_id)).results is None:
        assert reading.task is None or not reading.task.cancelled()
    assert reading.results.status.name == "spring"
    await readings.close()


@needs_chromium
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_the_file_is_accessible_and_fits_a_telephone(
    browser: Browser,
    url: str,
    file: str,
    tmp_path: Path,
    scheme: Any,
) -> None:
    path = tmp_path / "report.html"
    path.write_text(file, "utf-8")
    tab = await tab_of(browser, url, color_scheme=scheme, viewport={"width": 360, "height": 800})
    await tab.goto(path.as_uri())
    await expect(tab.get_by_role("heading", name="spring")).to_be_visible()
    await require_accessible(tab)
    assert await tab.evaluate("document.documentElement.scrollWidth") <= 360
    for view in (RESULTS, f"{RESULTS}?by=number"):
        await tab.goto(view)
        await require_accessible(tab)
        assert await tab.evaluate("document.documentElement.scrollWidth") <= 360


@needs_chromium
async def test_the_page_shows_the_results_as_soon_as_they_are_counted(
    page: Page, released: asyncio.Event
) -> None:
    await page.goto(RESULTS)
    await expect(page.get_by_text("10 recipients are being counted")).to_be_visible()
    released.set()
    await expect(page.get_by_role("heading", name="How far the messages came")).to_be_visible()
    await expect(page.get_by_role("link", name="Download as a file")).to_be_visible()
