"""The whole story with the page alone, in Chromium: from a file with two bad rows to a retry of those who failed.

The service is emulated; worker, receiver and console are processes of their own.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from tests.acceptance.conftest import Scene, scene, status_delay
from tests.cli.processes import serving
from tests.console.chromium import browser, needs_chromium, tab_of

__all__ = ["browser", "scene", "status_delay"]  # fixtures
pytestmark = [needs_chromium, pytest.mark.long]

PEOPLE = 200
SLOW_PER_S = "8"  # of each number: slow enough to be paused by a person
PHONE = 5511980000000
GONE = (PHONE + 1, PHONE + 2)  # not on the network, until the retry
OWN_PHONE = PHONE + 900
SENT_MS_MAX = 60_000


@pytest.fixture
def address(scene: Scene, tmp_path: Path) -> Iterator[str]:
    """A console beside a worker."""
    for number in ("1", "2"):
        scene.drumbeat.ok("numbers", "limit", number, SLOW_PER_S)
    for phone in GONE:
        scene.service.post("recipients", {"to": str(phone), "on_network": False})
    scene.drumbeat.start("worker", log=tmp_path / "worker.log")
    with serving(scene.drumbeat, "console", "serve", "--port", "0", "--no-metrics") as url:
        yield url


async def test_the_whole_story(browser: Browser, scene: Scene, address: str, tmp_path: Path) -> None:
    page = await tab_of(browser, address)
    await correct_the_list(page, await asyncio.to_thread(write_list, tmp_path / "spring list.csv"))
    await choose_the_message(page)
    await create_the_draft(page)
    await launch_after_a_test(page)
    await pause_and_resume(page)
    await see_the_result(page)
    await see_a_person(page)
    for phone in GONE:
        await asyncio.to_thread(scene.service.post, "recipients", {"to": str(phone), "on_network": True})
    await retry(page)
    reached = await asyncio.to_thread(scene.service.recipients)
    people = {str(PHONE + person) for person in range(PEOPLE + 2)}
    assert sorted(reached) == sorted([*people, str(OWN_PHONE)]), "everybody once, and the test"


def write_list(path: Path) -> Path:
    """The last two rows are bad: a text, and a phone that is too short."""
    rows = [f"+{PHONE + person},Ana {person},A-{person}" for person in range(PEOPLE)]
    bad = ["by mail,Bo,A-900", "+5511,Cy,A-901"]
    path.write_text("\n".join(["phone,name,order", *rows, *bad, ""]), "utf-8")
    return path


async def correct_the_list(page: Page, file: Path) -> None:
    await page.goto("/")
    await page.get_by_role("navigation", name="Main").get_by_role("link", name="New campaign").click()
    await page.get_by_label("A file with a header").set_input_files(file)
    await page.get_by_role("button", name="Check the rows").click()
    await expect(page.locator("#bad")).to_have_text("2")
    for person in (PEOPLE, PEOPLE + 1):
        await page.get_by_label(f"phone, row {person + 2}").fill(f"+{PHONE + person}")
    await page.get_by_role("button", name="Correct and check again").click()
    await expect(page.get_by_text("All rows can be read.")).to_be_visible()
    await page.get_by_role("link", name="Next").click()


async def choose_the_message(page: Page) -> None:
    await page.get_by_role("button", name="Use order_shipped").click()
    await page.get_by_label("{{1}}").first.select_option("column:name")
    await page.get_by_label("{{2}}").first.select_option("column:order")
    await expect(page.locator("#preview .bubble")).to_contain_text("Ana 0")
    await page.get_by_role("button", name="Next row").click()
    await expect(page.locator("#preview .bubble")).to_contain_text("Ana 1")
    await page.get_by_role("button", name="Next: sending").click()


async def create_the_draft(page: Page) -> None:
    await page.get_by_label("Name of the campaign").fill("spring")
    await page.get_by_role("button", name="Check, and show time and cost").click()
    await expect(page.get_by_text(f"{PEOPLE + 2} rows = {PEOPLE + 2} recipients")).to_be_visible()
    await page.get_by_role("button", name="Create the draft").click()


async def launch_after_a_test(page: Page) -> None:
    await expect(page.get_by_text("cannot be taken back")).to_be_visible()
    await page.get_by_label("Phone numbers, one a line").fill(f"+{OWN_PHONE}")
    await page.get_by_role("button", name="Send the test").click()
    await page.get_by_role("link", name="spring/test-1").click()
    await expect(page.locator("[data-part=state] .pill")).to_have_text("finished")
    await page.get_by_role("link", name="spring", exact=True).click()
    await page.get_by_role("link", name="Start", exact=True).click()
    await page.get_by_role("button", name="Start now").click()


async def pause_and_resume(page: Page) -> None:
    pill = page.locator("[data-part=state] .pill")
    await expect(pill).to_have_text("running")
    await expect(page.locator("#accepted")).not_to_have_text("0")
    await page.get_by_role("button", name="Pause").click()
    await expect(pill).to_have_text("paused")
    await page.get_by_role("button", name="Resume").click()
    await expect(pill).to_have_text("finished", timeout=SENT_MS_MAX)


async def see_the_result(page: Page) -> None:
    await expect(page.locator("#accepted")).to_have_text(str(PEOPLE))
    await page.get_by_role("link", name="Reasons and remedies").click()
    await expect(page.get_by_role("row").filter(has_text="131026")).to_contain_text(str(len(GONE)))
    await page.go_back()


async def see_a_person(page: Page) -> None:
    await page.get_by_role("link", name="Failed", exact=True).click()
    await page.get_by_role("link", name=f"+{GONE[0]}").click()
    await expect(page.get_by_text("Attempt 1")).to_be_visible()
    await page.get_by_role("link", name="spring", exact=True).click()


async def retry(page: Page) -> None:
    await page.get_by_role("link", name="Retry the failed").click()
    await page.get_by_label("Only with these codes").fill(
        "131026"
    )  # which a retry leaves out unless it is named
    await page.get_by_role("button", name="Create the retry").click()
    await page.get_by_role("link", name="Start", exact=True).click()
    await page.get_by_role("button", name="Start now").click()
    await expect(page.locator("[data-part=state] .pill")).to_have_text("finished", timeout=SENT_MS_MAX)
