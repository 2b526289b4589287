"""Chromium, as the tests of pages use it."""

import shutil
from collections.abc import AsyncIterator
from typing import Any

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Page, async_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium")


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        await browser.close()


async def tab_of(browser: Browser, url: str, **options: Any) -> Page:
    """A tab of a browser that nobody used before. An error of a script fails the test."""
    context = await browser.new_context(base_url=url, **options)
    page = await context.new_page()
    page.on("pageerror", lambda error: pytest.fail(str(error)))
    return page


@pytest.fixture
async def page(browser: Browser, url: str) -> Page:
    return await tab_of(browser, url)


async def require_accessible(page: Page) -> None:
    results = await Axe().run(page)
    assert results.violations_count == 0, f"{page.url}: {results.generate_report()}"
