"""Every view: axe reports nothing, no view is wider than its window, and each has a title and one heading."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Browser, Page, expect

from campaigns.console.choices import write_choices
from campaigns.console.uploads import Upload
from tests.console.browsing import browser, needs_chromium, require_accessible, tab_of
from tests.console.conftest import PHONE
from tests.console.views import views

__all__ = ["browser"]  # a fixture
pytestmark = needs_chromium


@pytest.fixture
async def every_view(browser: Browser, url: str, tmp_path: Path) -> list[str]:
    file = tmp_path / "autumn.csv"
    file.write_text(f"phone,name,order\n+{PHONE + 70},Bo,B1\nnonsense,Cy,B2\n", "utf-8")
    page = await tab_of(browser, url)
    upload = await uploaded(page, file)
    await page.get_by_role("button", name="Check the rows").click()
    await expect(page.get_by_role("button", name="Correct and check again")).to_be_visible()
    stored = tmp_path / "uploads" / upload.rpartition("/")[2]
    write_choices(Upload(stored, stored, file.name), template="order", language="en")
    return [address async for address in views(url, {"/new/{reference}": (upload,)})]


async def uploaded(page: Page, file: Path) -> str:
    """Where a new campaign goes on after its file was uploaded."""
    await page.goto("/new")
    await page.locator("input[type=file]").set_input_files(file)
    await page.wait_for_url(re.compile("/new/[^/]+$"))
    return urlsplit(page.url).path


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_axe_reports_nothing_on_any_view(
    browser: Browser, url: str, every_view: list[str], scheme: Any
) -> None:
    page = await tab_of(browser, url, color_scheme=scheme)
    for view in every_view:
        await page.goto(view)
        await require_accessible(page)


@pytest.mark.parametrize("width", [360, 1280])
async def test_no_view_is_wider_than_its_window(
    browser: Browser, url: str, every_view: list[str], width: int
) -> None:
    page = await tab_of(browser, url, viewport={"width": width, "height": 800})
    for view in every_view:
        await page.goto(view)
        assert await page.evaluate("document.documentElement.scrollWidth") <= width, view


async def test_every_view_has_a_heading_and_a_title_of_its_own(
    browser: Browser, url: str, every_view: list[str]
) -> None:
    page, titles = await tab_of(browser, url), {}
    for view in every_view:
        await page.goto(view)
        assert await page.locator("h1").count() == 1, view
        titles[view] = await page.title()
    assert len(set(titles.values())) == len(titles), titles
