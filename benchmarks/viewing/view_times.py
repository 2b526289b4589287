"""The times of views: how long does each take beside a large campaign that is sent, and how long that of a
small one?
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import aiohttp

from drumbeat.benchmarks.harness.processes import BenchmarkFailed
from drumbeat.benchmarks.viewing.places import View, views
from drumbeat.benchmarks.viewing.seed import Planted
from drumbeat.benchmarks.viewing.serving import ServedConsole
from drumbeat.benchmarks.viewing.upload import upload

LONGEST_S = 60.0
ENOUGH_MS = 15_000.0  # of one view: a slow one is asked less often
# A view that a running campaign does not have, such as to edit it, says so with another status.
_WRONG, _ENOUGH, _FAILED = frozenset({400, 401, 403, 404}), 429, 500


@dataclass(slots=True)
class ViewTime:
    """The milliseconds of each request, of the large campaign and of the small one (of no campaign: none)."""

    route: str
    large_ms: list[float] = field(default_factory=list)
    small_ms: list[float] = field(default_factory=list)

    @property
    def p95_ms(self) -> float:
        return p95(self.large_ms)


def p95(values: Sequence[float]) -> float:
    return statistics.quantiles(values, n=20, method="inclusive")[-1] if len(values) > 1 else values[0]


async def view_times(console: ServedConsole, planted: Sequence[Planted], requests: int) -> list[ViewTime]:
    """Ask every view in turn, so many times. Nobody else asks meanwhile, except for open streams."""
    timeout = aiohttp.ClientTimeout(total=LONGEST_S)
    async with aiohttp.ClientSession(headers=console.headers, timeout=timeout) as session:
        reference = await upload(session, console.url)
        large, small = (views(each.examples(reference)) for each in planted)
        found = {view.route: ViewTime(view.route) for view in large}
        for _ in range(requests):
            for view, other in zip(large, small, strict=True):
                times = found[view.route]
                if sum(times.large_ms) > ENOUGH_MS:
                    continue
                times.large_ms += await _asked_ms(session, console.url, view)
                if other.of_campaign:
                    times.small_ms += await _asked_ms(session, console.url, other)
    return list(found.values())


async def _asked_ms(session: aiohttp.ClientSession, url: str, view: View) -> list[float]:
    """Return the milliseconds until the view is there whole; of a stream or a file, until its first bytes.
    Empty if one caller may not ask for it any more.
    """
    began_s = time.perf_counter()
    async with session.get(url + view.address, allow_redirects=False) as reply:
        if reply.status == _ENOUGH:
            return []
        if reply.status in _WRONG or reply.status >= _FAILED:
            raise BenchmarkFailed(f"{view.address} answered {reply.status}: {await reply.text()}")
        goes_on = reply.content_type == "text/event-stream" or "Content-Disposition" in reply.headers
        await (reply.content.readany() if goes_on else reply.read())
        ended_s = time.perf_counter()
        if goes_on:
            reply.close()
    return [(ended_s - began_s) * 1e3]
