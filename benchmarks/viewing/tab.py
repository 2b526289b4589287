"""The tab that is open for long: does it keep its memory, and does the server? It is a Chromium that draws
what comes.
"""

from __future__ import annotations

import asyncio
import math
import shutil
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from drumbeat.benchmarks.harness.processes import BenchmarkFailed
from drumbeat.benchmarks.memory import memory
from drumbeat.benchmarks.viewing.serving import ServedConsole

if TYPE_CHECKING:
    from playwright.async_api import CDPSession

GROWTH_SHARE_MAX = 0.05  # in the measured time, by the slope
_NODES, _HEAP = "Nodes", "JSHeapUsedSize"
LIVE_S_MAX = 30.0


@dataclass(frozen=True, slots=True)
class Course:
    """One size over time, in its own unit. `at_s`: when each value was read."""

    name: str
    unit: str
    at_s: tuple[float, ...]
    values: tuple[float, ...]

    @property
    def per_minute(self) -> float:
        return statistics.linear_regression(self.at_s, self.values).slope * 60

    @property
    def error_per_minute(self) -> float:
        """Return two standard errors of the slope."""
        line = statistics.linear_regression(self.at_s, self.values)
        rest = [y - line.intercept - line.slope * x for x, y in zip(self.at_s, self.values, strict=True)]
        spread = math.sqrt(statistics.variance(self.at_s) * (len(self.at_s) - 1))
        deviation = math.sqrt(sum(each * each for each in rest) / (len(rest) - 2))
        return 2 * 60 * deviation / spread

    @property
    def growth_share(self) -> float:
        """Return its growth in the measured time, as a share of its median."""
        minutes = (self.at_s[-1] - self.at_s[0]) / 60
        return self.per_minute * minutes / statistics.median(self.values)

    @property
    def is_flat(self) -> bool:
        """Return whether it grows by little, or no more than its values scatter."""
        return self.growth_share <= GROWTH_SHARE_MAX or self.per_minute <= self.error_per_minute


async def watch_tab(
    console: ServedConsole,
    address: str,
    servers: Mapping[str, int],
    warm_up_s: float,
    seconds: float,
    period_s: float,
) -> list[Course]:
    """Open the page and read every `period_s`: heap and nodes after a collection, and the memory of servers.

    `servers`: process ids by name. Nothing is read in the warm-up.
    """
    from playwright.async_api import async_playwright, expect  # a package of the development installation

    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        raise BenchmarkFailed("a tab needs Chromium: apt-get install chromium")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        try:
            page = await (await browser.new_context()).new_page()
            await page.goto(console.url + address)
            await expect(page.locator(".live")).to_have_text("live", timeout=LIVE_S_MAX * 1e3)
            session = await page.context.new_cdp_session(page)
            await session.send("Performance.enable")
            await asyncio.sleep(warm_up_s)
            return await _read(session, servers, seconds, period_s)
        finally:
            await browser.close()


async def _read(
    session: CDPSession, servers: Mapping[str, int], seconds: float, period_s: float
) -> list[Course]:
    began_s, at_s, rows = time.monotonic(), [], []
    while (now_s := time.monotonic() - began_s) < seconds:
        at_s.append(now_s)
        rows.append(await _sizes(session, servers))
        await asyncio.sleep(period_s)
    names = [("tab: heap", "KiB"), ("tab: nodes", ""), *((f"{name}: resident", "KiB") for name in servers)]
    columns: Sequence[Sequence[float]] = list(zip(*rows, strict=True))
    return [
        Course(name, unit, tuple(at_s), tuple(values))
        for (name, unit), values in zip(names, columns, strict=True)
    ]


async def _sizes(session: CDPSession, servers: Mapping[str, int]) -> list[float]:
    await session.send("HeapProfiler.collectGarbage")
    reply = await session.send("Performance.getMetrics")
    found = {metric["name"]: metric["value"] for metric in reply["metrics"]}
    resident = [memory(pid).resident_bytes / 1024 for pid in servers.values()]
    return [found[_HEAP] / 1024, found[_NODES], *resident]
