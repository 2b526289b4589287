"""The list of a new campaign in the system's Chromium: what needs a browser."""

from pathlib import Path

import pytest
import xlsxwriter
from playwright.async_api import Browser, Page, expect

from drumbeat.campaigns.console.new import rows_pages as new_rows
from drumbeat.engine.store.database import Pool
from tests.console.chromium import browser, needs_chromium, page, require_accessible, tab_of
from tests.console.conftest import PHONE, console

__all__ = ["browser", "page"]  # fixtures
pytestmark = needs_chromium


async def test_two_bad_rows_of_a_worksheet_are_corrected(page: Page, tmp_path: Path) -> None:
    """By the keyboard, and the page holds for a screen reader at each step."""
    file = tmp_path / "people.xlsx"
    with xlsxwriter.Workbook(file) as workbook:
        workbook.add_worksheet("Notes").write_row(0, 0, ["nothing", "here"])
        sheet = workbook.add_worksheet("Clients")
        for at, row in enumerate([["Handy", "name"], ["nonsense", "Ana"], [f"+{PHONE}", "Bo"], ["", "Cy"]]):
            sheet.write_row(at, 0, row)
    await page.goto("/new")
    await page.get_by_label("A file with a header").set_input_files(file)
    await page.get_by_label("Clients").check()
    await require_accessible(page)
    await page.get_by_role("button", name="Use this worksheet").click()
    await page.get_by_label("Country of numbers").select_option(label="Brazil (+55)")
    await page.get_by_role("button", name="Check the rows").click()
    await expect(page.locator("#bad")).to_have_text("2")
    await require_accessible(page)
    await page.get_by_label("Handy, row 2").focus()
    await page.keyboard.press("Control+A")
    await page.keyboard.type("(11) 96000-0001")
    await page.keyboard.press("Tab")
    await page.keyboard.type("(11) 96000-0002")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("All rows can be read.")).to_be_visible()
    await expect(page.locator("#good")).to_have_text("3")
    await page.get_by_role("link", name="Next").click()
    await expect(page.get_by_role("heading", name="The message")).to_be_visible()
    await page.go_back()
    await expect(page.locator("#good")).to_have_text("3")


async def test_the_end_of_a_long_check_brings_its_figures(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(new_rows, "WAIT_S", 0.0)
    file = tmp_path / "people.csv"
    file.write_text("phone,name\n" + "".join(f"+{PHONE + row},Ana\n" for row in range(300_000)))
    await page.goto("/new")
    await page.get_by_label("A file with a header").set_input_files(file)
    await page.get_by_role("button", name="Check the rows").click()
    await expect(page.locator("[data-part=check]")).to_contain_text("rows are checked so far")
    await require_accessible(page)
    await expect(page.locator("#good")).to_have_text("300,000", timeout=60_000)


async def test_a_refused_file_leaves_the_form_for_another_one(page: Page, tmp_path: Path) -> None:
    picture = tmp_path / "list.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n")
    await page.goto("/new")
    await page.get_by_label("A file with a header").set_input_files(picture)
    await expect(page.get_by_role("alert")).to_contain_text("a picture (PNG), not a table")
    await require_accessible(page)
    table = tmp_path / "list.csv"
    table.write_text(f"phone\n+{PHONE}\n")
    await page.get_by_label("A file with a header").set_input_files(table)
    await expect(page.get_by_role("heading", name="Your list")).to_be_visible()


async def test_a_file_that_is_too_large_is_not_even_sent(
    browser: Browser, pool: Pool, database_url: str, campaign: str, tmp_path: Path
) -> None:
    file = tmp_path / "large.csv"
    file.write_bytes(b"phone\n" + bytes(1 << 20))
    async with console(pool, database_url, tmp_path, console_upload_mib=1) as url:
        page = await tab_of(browser, url)
        page.on("request", lambda request: pytest.fail("it is sent") if request.method == "POST" else None)
        await page.goto("/new")
        await page.get_by_label("A file with a header").set_input_files(file)
        await expect(page.get_by_role("status")).to_contain_text("larger than 1 MiB")


async def test_without_a_script_a_list_is_uploaded_checked_and_corrected(
    browser: Browser, url: str, tmp_path: Path
) -> None:
    file = tmp_path / "people.csv"
    file.write_text(f"phone,name\nnonsense,Ana\n+{PHONE},Bo\n")
    page = await tab_of(browser, url, java_script_enabled=False)
    await page.goto("/new")
    await page.get_by_label("A file with a header").set_input_files(file)
    await page.get_by_role("button", name="Upload").click()
    await page.get_by_role("button", name="Check the rows").click()
    await page.get_by_label("phone, row 2").fill(f"+{PHONE + 1}")
    await page.get_by_role("button", name="Correct and check again").click()
    await expect(page.get_by_text("All rows can be read.")).to_be_visible()
