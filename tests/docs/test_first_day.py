"""The first day runs as its page says: the commands in one shell, the steps in Chromium, nothing left behind."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from tests.console.chromium import browser, needs_chromium, tab_of
from tests.docs.reader import BIN, blocks
from tests.docs.test_first_campaign import END, INSTALLED, free_ports
from tests.docs.test_links import ROOT

__all__ = ["browser"]  # a fixture
pytestmark = [needs_chromium, pytest.mark.long]

TEXT = (ROOT / "docs/tutorial/first-day.md").read_text("utf-8")
RECEIVER, EMULATOR, CONSOLE = 8080, 8081, 8082  # as the page names them
READY = "ready"
SHELL_S_MAX = 120.0
SENT_MS_MAX = 60_000
NAMED = re.compile(r"\*\*(.+?)\*\*", re.DOTALL)


def script(ports: list[int]) -> list[str]:
    """The commands before the steps and those after them. Tests run at the same time, so ports are others; who reads
    is slower than a script, so it waits for the servers.
    """
    found = blocks(TEXT)
    assert found[0].startswith(INSTALLED)
    stop = next(at for at, block in enumerate(found) if "campaign watch" in block)
    start, rest = "".join([found[0].removeprefix(INSTALLED), *found[1:stop]]), "".join(found[stop:])
    wait = "until (: </dev/tcp/127.0.0.1/{}) 2>&-; do sleep 0.1; done\n"
    for line, ours in {
        "drumbeat webhooks serve &\n": f"drumbeat webhooks serve --port {RECEIVER} &\n",
        "/webhook &\n": f"/webhook --port {EMULATOR} &\n" + wait.format(RECEIVER) + wait.format(EMULATOR),
        "drumbeat worker --quiet &\n": "drumbeat worker --quiet --no-metrics &\n",
        "drumbeat console serve &\n": f"drumbeat console serve --no-metrics --port {CONSOLE} &\n"
        + wait.format(CONSOLE),
    }.items():
        assert line in start
        start = start.replace(line, ours)
    texts = [f"{END}set -eu\n{start}echo {READY}\n", rest]
    for theirs, ours in zip((RECEIVER, EMULATOR, CONSOLE), map(str, ports), strict=True):
        texts = [text.replace(str(theirs), ours) for text in texts]
    return texts


@contextmanager
def shell_in(directory: Path) -> Iterator[subprocess.Popen[str]]:
    environment = {"PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(directory)}
    with subprocess.Popen(
        ["bash"], cwd=directory, env=environment, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as shell:  # fmt: skip
        try:
            yield shell
        finally:
            if shell.poll() is None:
                assert shell.stdin is not None
                shell.stdin.close()  # the shell ends, and its trap ends the servers
                shell.wait(SHELL_S_MAX)


def until_ready(shell: subprocess.Popen[str], commands: str) -> None:
    assert shell.stdin is not None and shell.stdout is not None
    shell.stdin.write(commands)
    shell.stdin.flush()
    said = []
    for line in shell.stdout:
        if line.strip() == READY:
            return
        said.append(line)
    raise AssertionError("".join(said))


class Follower:
    """Follows the page in a tab, and keeps the names of what it used."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.used: set[str] = set()

    async def press(self, name: str) -> None:
        await self._named("button", name).click()

    async def choose(self, name: str) -> None:
        await self._named("link", name).first.click()

    def field(self, name: str) -> Locator:
        self.used.add(name)
        return self.page.get_by_label(name).first

    def _named(self, role: str, name: str) -> Locator:
        self.used.add(name)
        return self.page.get_by_role(role, name=name)  # type: ignore[arg-type]


async def test_the_first_day_runs_as_its_page_says(browser: Browser, tmp_path: Path) -> None:
    ports = free_ports(3)
    before, after = script(ports)
    with shell_in(tmp_path) as shell:
        await asyncio.to_thread(until_ready, shell, before)
        follower = Follower(await tab_of(browser, f"http://127.0.0.1:{ports[2]}"))
        await make_the_campaign(follower, tmp_path / "first-day/orders.csv")
        await send_it_and_see(follower)
        assert follower.used == {re.sub(r"\s+", " ", name) for name in NAMED.findall(TEXT)}
        said, _ = await asyncio.to_thread(shell.communicate, after, SHELL_S_MAX)
        assert shell.returncode == 0, said
    assert "orders: finished" in said
    assert await asyncio.to_thread(os.listdir, tmp_path) == []


async def make_the_campaign(follower: Follower, file: Path) -> None:
    page = follower.page
    await page.goto("/")
    await follower.choose("New campaign")
    await follower.field("A file with a header").set_input_files(file)
    await follower.field("Country of numbers without a country code").select_option("DE")
    await follower.press("Check the rows")
    await expect(page.locator("#bad")).to_have_text("1")
    await follower.field("Phone, row 5").fill("+49 30 901821")
    await follower.press("Correct and check again")
    await expect(page.get_by_text("All rows can be read.")).to_be_visible()
    await follower.choose("Next")
    await follower.press("Use order_shipped")
    await follower.field("{{1}}").select_option("column:Customer")
    await follower.field("{{2}}").select_option("column:Order")
    await expect(page.locator("#preview .bubble")).to_contain_text("Ada")
    await follower.press("Next row")
    await expect(page.locator("#preview .bubble")).to_contain_text("Carla")
    await follower.press("Next: sending")
    await follower.field("Name of the campaign").fill("orders")
    await follower.press("Check, and show time and cost")
    await expect(page.get_by_text("5 rows = 4 recipients")).to_be_visible()
    await follower.press("Create the draft")


async def send_it_and_see(follower: Follower) -> None:
    page = follower.page
    await follower.press("Start now")
    await expect(page.locator("[data-part=state] .pill")).to_have_text("finished", timeout=SENT_MS_MAX)
    await follower.choose("Results")
    await expect(page.get_by_role("heading", name="Results")).to_be_visible()
    await page.go_back()
    await follower.choose("Recipients")
    await page.get_by_role("link", name="+4930901821").click()
    await expect(page.get_by_text("Attempt 1")).to_be_visible()
