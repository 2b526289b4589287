"""The page, in the system's Chromium: it shows what happens, and its buttons reach the control plane."""

import shutil
from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Page, async_playwright, expect

from tests.emulator.conftest import ANA, NUMBER, Client, free_form, template

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium")


@pytest.fixture
async def page(client: Client) -> AsyncIterator[Page]:
    """The page of the running emulator; any error of its script fails the test."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            tab = await browser.new_page()
            errors: list[str] = []
            tab.on("pageerror", lambda error: errors.append(str(error)))
            await tab.goto(client.emulator.url)
            yield tab
            assert errors == []
        finally:
            await browser.close()


async def test_it_shows_numbers_and_messages_as_on_a_phone(client: Client, page: Page) -> None:
    await client.send(template(ANA, "Ana <b>", "LH-7"))
    bubble = page.locator("#messages li").first
    await expect(bubble).to_contain_text("Hi Ana <b>, your order LH-7 is on its way.")
    await expect(bubble).to_contain_text(f"to {ANA}")
    await expect(page.locator("#accepted")).to_have_text("1")
    row = page.locator("#numbers tr").first
    await expect(row).to_contain_text("1000/s")
    await expect(row).to_contain_text("GREEN")


async def test_its_buttons_reach_the_control_plane(client: Client, page: Page) -> None:
    await page.get_by_role("button", name="Write in").click()
    await expect(page.locator("#said")).to_have_text("Done.")
    assert (await client.send(free_form("text", {"body": "Hello again"}))).status == 200
    await expect(page.locator("#messages li").first).to_contain_text("Hello again")
    await page.locator("#fault-kind").select_option("throttle-storm")
    await page.locator("#fault-probability").fill("1")
    await page.get_by_role("button", name="Add fault").click()
    await expect(page.locator("#faults li")).to_contain_text("throttle-storm")
    assert (await client.send(template())).code == 130429
    await page.get_by_role("button", name="Clear faults").click()
    await expect(page.locator("#faults li")).to_have_count(0)
    before_s = (await client.ask("health"))["unix_s"]
    await page.get_by_role("button", name="Clock + 24 hours").click()
    await expect(page.locator("#messages li").first).to_contain_text("Hello again")
    await page.get_by_role("button", name="Stop statuses").click()
    await expect(page.get_by_role("button", name="Send statuses")).to_be_visible()
    assert (await client.ask("health"))["unix_s"] - before_s >= 86_400
    await page.get_by_role("button", name="Reset everything").click()
    await expect(page.locator("#accepted")).to_have_text("0")


async def test_it_decides_reviews(client: Client, page: Page) -> None:
    row = page.locator("#templates tr").filter(has_text="loyalty_launch")
    await expect(row).to_contain_text("PENDING")
    await row.get_by_role("button", name="approved").click()
    await expect(row).to_contain_text("APPROVED")
    answer = await client.send(template(name="loyalty_launch"), number=NUMBER)
    assert answer.status == 200
