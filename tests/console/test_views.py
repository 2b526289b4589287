"""Every view: axe reports nothing, no view is wider than its window, and each has a title and one heading."""

import re
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Browser, Page, expect

from drumbeat.campaigns.console.new.choices import write_choices
from drumbeat.campaigns.console.web.roles import Role
from drumbeat.campaigns.console.web.uploads import Upload
from drumbeat.campaigns.console.web.users import add_token, store_user
from drumbeat.campaigns.life.forget import forget_person
from drumbeat.engine.store.database import Pool
from tests.console.chromium import browser, needs_chromium, require_accessible, tab_of
from tests.console.conftest import PHONE
from tests.console.views import SIGN_IN, View, views

__all__ = ["browser"]  # a fixture
pytestmark = needs_chromium

PASSWORD = "a long enough password"
# Who asks for no page of the console has no menu.
MENU_FITS = "[...document.querySelectorAll('.top nav')].every(menu => menu.scrollWidth <= menu.clientWidth)"


class Scene(NamedTuple):
    """What a manager may see, and the state of the manager's browser."""

    views: list[View]
    state: Any


@pytest.fixture
async def scene(browser: Browser, pool: Pool, url: str, tmp_path: Path) -> Scene:
    """Every view, as a manager sees it, with an upload whose message is chosen and one of whose rows is bad."""
    await store_user(pool, "ana", Role.MANAGE, PASSWORD, actor="test")
    await add_token(pool, "reports", Role.LOOK, actor="test")
    page = await tab_of(browser, url)
    await sign_in(page)
    file = tmp_path / "autumn.csv"
    file.write_text(f"phone,name,order\n+{PHONE + 70},Bo,B1\nnonsense,Cy,B2\n", "utf-8")
    upload = await uploaded(page, file)
    await page.get_by_role("button", name="Check the rows").click()
    await expect(page.get_by_role("button", name="Correct and check again")).to_be_visible()
    stored = tmp_path / "uploads" / upload.rpartition("/")[2]
    write_choices(Upload(stored, stored, file.name), template="order", language="en")
    filled = {
        "/new/{reference}": (upload,),
        "/erased/{pseudonym}": (f"/erased/{await erased(pool)}",),
        "/suppression/import/{reference}": (await imported(page, file),),
    }
    state: Any = await page.context.storage_state()
    headers = {"Cookie": "; ".join(f"{each['name']}={each['value']}" for each in state["cookies"])}
    found = [view async for view in views(url, filled, headers)]
    return Scene(found, state)


async def erased(pool: Pool) -> str:
    """The pseudonym of somebody who was erased."""
    async with pool.acquire() as connection:
        return (await forget_person(connection, [PHONE + 9], actor="test")).pseudonym


async def imported(page: Page, file: Path) -> str:
    """Where the import of a list shows what it read."""
    await page.goto("/suppression")
    await page.locator("input[type=file]").set_input_files(file)
    await page.get_by_role("button", name="Upload").click()
    await page.get_by_role("button", name="Suppress these numbers").click()
    await expect(page.get_by_text("Could not be read", exact=True)).to_be_visible()
    return urlsplit(page.url).path


async def sign_in(page: Page) -> None:
    await page.goto("/sign-in")
    await page.get_by_label("Name").fill("ana")
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Sign in").click()
    await page.wait_for_url(re.compile(r"//[^/]+/$"))


async def uploaded(page: Page, file: Path) -> str:
    """Where a new campaign goes on after its file was uploaded."""
    await page.goto("/new")
    await page.locator("input[type=file]").set_input_files(file)
    await page.wait_for_url(re.compile("/new/[0-9a-f]{32}"))
    return "/".join(urlsplit(page.url).path.split("/")[:3])


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.long)])
async def test_axe_reports_nothing_on_any_view(browser: Browser, url: str, scene: Scene, scheme: Any) -> None:
    page = await tab_of(browser, url, color_scheme=scheme, storage_state=scene.state)
    for view in scene.views:
        await page.goto(view.address)
        await require_accessible(page)
    stranger = await tab_of(browser, url, color_scheme=scheme)
    await stranger.goto(SIGN_IN.address)
    await require_accessible(stranger)


@pytest.mark.parametrize(
    "width", [1280, *(pytest.param(width, marks=pytest.mark.long) for width in (360, 1920))]
)
async def test_no_view_is_wider_than_its_window(browser: Browser, url: str, scene: Scene, width: int) -> None:
    window: Any = {"width": width, "height": 800}
    page = await tab_of(browser, url, viewport=window, storage_state=scene.state)
    for view in scene.views:
        await page.goto(view.address)
        assert await page.evaluate("document.documentElement.scrollWidth") <= width, view
        assert await page.evaluate(MENU_FITS), f"{view}: its menu is cut"


async def test_every_view_has_one_heading_and_a_title_of_its_own(
    browser: Browser, url: str, scene: Scene
) -> None:
    page = await tab_of(browser, url, storage_state=scene.state)
    titles = {}
    for view in scene.views:
        await page.goto(view.address)
        assert await page.locator("h1").count() == 1, view
        titles[view] = await page.title()
    assert len(set(titles.values())) == len(titles), titles
