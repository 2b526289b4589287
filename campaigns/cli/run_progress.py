"""The progress of a running campaign on stderr: live on a terminal, else lines every few seconds, or JSON."""

import asyncio
import sys
import time
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Protocol

import orjson

from drumbeat.campaigns.cli.status_text import progress_line
from drumbeat.campaigns.results.status import CampaignStatus, campaign_status
from drumbeat.engine.process.event_log import get_logger
from drumbeat.engine.store.database import LOST_CONNECTION, Pool

LINES_PERIOD_S = 5.0
RATE_WINDOW_S = 5.0  # requests are counted in batches; a shorter window would show them

log = get_logger(__name__)


class Speeds:
    """The rate of each number over the last few seconds."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, dict[str, int]]] = deque()

    def add(self, now_s: float, attempts: Mapping[str, int]) -> dict[str, float]:
        """Add the requests counted so far; return messages per second by number."""
        self._seen.append((now_s, dict(attempts)))
        while len(self._seen) > 2 and now_s - self._seen[0][0] > RATE_WINDOW_S:
            self._seen.popleft()
        then_s, before = self._seen[0]
        elapsed_s = now_s - then_s
        if elapsed_s <= 0:
            return dict.fromkeys(attempts, 0.0)
        return {number: (count - before.get(number, 0)) / elapsed_s for number, count in attempts.items()}


class View(Protocol):
    """A display of a status. `speeds` are messages per second by number."""

    period_s: float

    def show(self, status: CampaignStatus, speeds: Mapping[str, float]) -> None: ...

    def close(self) -> None: ...


class LinesView:
    """A display in lines of text, for logs and pipes."""

    period_s = LINES_PERIOD_S

    def show(self, status: CampaignStatus, speeds: Mapping[str, float]) -> None:
        sys.stderr.write(progress_line(status, sum(speeds.values())) + "\n")

    def close(self) -> None:
        sys.stderr.flush()


class JsonView:
    """A display in JSON lines for programs, as `campaign status --json`, with the achieved rate."""

    period_s = LINES_PERIOD_S

    def show(self, status: CampaignStatus, speeds: Mapping[str, float]) -> None:
        measured_per_s = sum(speeds.values())
        measured = replace(status, measured_per_s=measured_per_s)
        line = {**measured.as_json(), "achieved_per_s": round(measured_per_s, 1)}
        sys.stderr.write(orjson.dumps(line, option=orjson.OPT_UTC_Z).decode() + "\n")

    def close(self) -> None:
        sys.stderr.flush()


def view_for(*, json: bool, quiet: bool) -> View | None:
    """Return the view for these options and this terminal. A view of None shows nothing."""
    if quiet:
        return None
    if json:
        return JsonView()
    if not sys.stderr.isatty():
        return LinesView()
    from drumbeat.campaigns.cli.terminal_view import TerminalView  # imports rich, which no other view needs

    return TerminalView()


@asynccontextmanager
async def watched(pool: Pool, campaign_id: int, view: View | None) -> AsyncIterator[None]:
    """Show the campaign while the block runs. If the database does not answer, nothing is shown meanwhile."""
    if view is None:
        yield
        return
    task = asyncio.create_task(_watch(pool, campaign_id, view))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        view.close()


async def _watch(pool: Pool, campaign_id: int, view: View) -> None:
    speeds = Speeds()
    while True:
        try:
            status = await campaign_status(pool, campaign_id)
        except LOST_CONNECTION as problem:
            log.debug("progress_not_read", problem=type(problem).__name__)
        else:
            attempts = {number.phone_number_id: number.attempts for number in status.numbers}
            view.show(status, speeds.add(time.monotonic(), attempts))
        await asyncio.sleep(view.period_s)
