"""The pictures that the documents show, of a console beside a worker that sends; `make pictures` writes them into the documents."""

import asyncio
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playwright.async_api import Browser, Page

from drumbeat.campaigns.console.new.choices import write_choices
from drumbeat.campaigns.console.web.uploads import Upload
from tests.acceptance.conftest import Scene, scene
from tests.cli.processes import serving, until
from tests.console.chromium import browser, needs_chromium, tab_of
from tests.console.test_views import PASSWORD, imported, sign_in, uploaded
from tests.console.views import View, views
from tests.warm import ROOT

__all__ = ["browser", "scene"]  # fixtures
pytestmark = needs_chromium

DOCUMENTS = ROOT / "docs"
PICTURES = DOCUMENTS / "console"
TARGET = os.environ.get("PICTURES")  # the folder that they are written to
BYTES_MAX = 2 << 20  # of all pictures: who clones the repository gets them
HEIGHT_MAX = 1_600  # a list of a hundred rows says no more than its first
PHONE = 5511980000000
GONE = [PHONE + 7 * person for person in range(9)]
LARGE = 30_000
FILLED = {
    "/campaigns/{name}": ("/campaigns/orders",),
    "/campaigns/{name}/ask/{action}": ("/campaigns/spring/ask/cancel",),
    "/campaigns/{name}/launch": ("/campaigns/autumn/launch",),
    "/campaigns/{name}/edit": ("/campaigns/autumn/edit",),
    "/campaigns/{name}/delete": ("/campaigns/autumn/delete",),
    "/templates/{name}": ("/templates/order_shipped",),
    "/people/{phone}": (f"/people/{GONE[1]}",),
}
ONE = View("campaigns-one", "/campaigns/spring")  # while it is sent


class Size(NamedTuple):
    suffix: str
    width: int
    scheme: Any


USUAL = Size("", 1280, "light")
OTHERS = (Size("-narrow", 360, "light"), Size("-wide", 1920, "light"), Size("-dark", 1280, "dark"))


@pytest.fixture
def status_delay() -> str:
    return "0.3"


@pytest.fixture
def address(scene: Scene, tmp_path: Path) -> Iterator[str]:
    """A console with campaigns in several states, one of which is being sent."""
    drumbeat = scene.drumbeat
    (tmp_path / "password").write_text(PASSWORD)
    drumbeat.ok("console", "user", "add", "ana", "--role", "manage", "--password-file", tmp_path / "password")
    drumbeat.ok("console", "token", "add", "reports", "--role", "look")
    drumbeat.ok("suppress", "add", str(PHONE + 5), "--reason", "asked support")
    for phone in GONE:
        scene.service.post("recipients", {"to": str(phone), "on_network": False})
    drumbeat.ok("numbers", "limit", "2", "120")
    drumbeat.start("worker", log=tmp_path / "worker.log")
    scene.create(600, name="orders")
    drumbeat.ok("campaign", "run", "orders", "--wait")
    for person, text in enumerate(("Thank you!", "When does it arrive?", "Obrigada 🙂")):
        scene.service.post(
            "incoming", {"from": str(PHONE + 20 + person), "text": text, "phone_number_id": "1"}
        )
    scene.create(2_000, name="autumn")
    scene.create(1_000, "--start-at", "2030-01-31T09:00Z", name="winter")
    drumbeat.ok("campaign", "start", "winter")
    scene.create(LARGE, name="spring")
    drumbeat.ok("campaign", "start", "spring")
    with serving(drumbeat, "console", "serve", "--port", "0", "--no-metrics") as url:
        until(lambda: scene.service.accepted() > LARGE // 8, "spring is being sent")
        yield url


@pytest.mark.slow
async def test_the_pictures_of_the_documents_can_be_made(
    browser: Browser, scene: Scene, address: str, tmp_path: Path
) -> None:
    target = Path(TARGET) if TARGET else tmp_path / "pictures"
    first = await tab_of(browser, address)
    await sign_in(first)
    state: Any = await first.context.storage_state()
    found = await every_view(first, state, tmp_path)
    for size in (USUAL, *OTHERS):
        window: Any = {"width": size.width, "height": 800}
        page = await tab_of(browser, address, viewport=window, color_scheme=size.scheme, storage_state=state)
        for view in found:
            if (name := f"{view.name}{size.suffix}.png") in referred():
                await picture(page, view, size, target / name)
    made = {path.name for path in await asyncio.to_thread(lambda: list(target.iterdir()))}
    assert made == referred(), "docs/console.md names a picture of no view"


async def every_view(page: Page, state: Any, tmp_path: Path) -> list[View]:
    """All views; an upload has two bad rows, and its message is chosen."""
    people = [f"+{PHONE + 70 + person},Ana {person},A-{person}" for person in range(40)]
    file = tmp_path / "summer.csv"
    rows = ["phone,name,order", *people, "by mail,Bo,A-901", "+5511,Cy,A-902", ""]
    await asyncio.to_thread(file.write_text, "\n".join(rows))
    upload = await uploaded(page, file)
    await page.get_by_role("button", name="Check the rows").click()
    await page.get_by_role("button", name="Correct and check again").wait_for()
    stored = tmp_path / "home" / "uploads" / upload.rpartition("/")[2]
    write_choices(Upload(stored, stored, file.name), template="order_shipped", language="pt_BR")
    headers = {"Cookie": "; ".join(f"{each['name']}={each['value']}" for each in state["cookies"])}
    origin = re.match("https?://[^/]+", page.url)
    assert origin is not None
    imports = (await imported(page, file),)
    filled = {**FILLED, "/new/{reference}": (upload,), "/suppression/import/{reference}": imports}
    return [ONE if view.name == ONE.name else view async for view in views(origin[0], filled, headers)]


async def picture(page: Page, view: View, size: Size, path: Path) -> None:
    await page.goto(view.address)
    await page.locator("[data-live=connecting]").wait_for(state="detached")
    height = min(HEIGHT_MAX, await page.evaluate("document.documentElement.scrollHeight"))
    await page.screenshot(
        path=path,
        full_page=True,
        clip={"x": 0, "y": 0, "width": size.width, "height": height},
    )


def referred() -> set[str]:
    return set(re.findall(r"\(console/([\w-]+\.png)\)", (DOCUMENTS / "console.md").read_text("utf-8")))


def test_the_pictures_are_those_that_the_page_names_and_small() -> None:
    assert {path.name for path in PICTURES.iterdir()} == referred()
    assert sum(path.stat().st_size for path in PICTURES.iterdir()) < BYTES_MAX
