"""A comparison of the campaign's recipients with the emulated service's own ledger, read over HTTP."""

import asyncio
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

import aiohttp

from drumbeat.campaigns.results.export import COLUMNS, export_rows
from drumbeat.campaigns.results.report import campaign_report
from drumbeat.campaigns.sql import statements
from drumbeat.engine.core.states import RecipientState
from drumbeat.engine.errors import Unreachable
from drumbeat.engine.store.database import Pool

LEDGER_PAGE = 10_000
LOOK_PERIOD_S = 0.5
STATUSES_S_MAX = 180.0
# The service never accepted recipients in these states, and they are not forgotten.
NEVER_SENT = frozenset({RecipientState.FAILED, RecipientState.SKIPPED})
_PHONE, _STATE = COLUMNS.index("phone"), COLUMNS.index("state")


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of the comparison. `twice` are people with several messages. `forgotten` are recipients with
    neither a message nor a final state. `strangers` are people in the ledger who are no recipients.
    """

    messages: int
    twice: int
    forgotten: int
    strangers: int
    unknown: int
    adds_up: bool

    @property
    def proved(self) -> bool:
        return self.adds_up and not (self.twice or self.forgotten or self.strangers or self.unknown)


async def statuses_arrived(pool: Pool, service_url: str) -> None:
    """Wait until every event of the service arrived and was applied; Unreachable after STATUSES_S_MAX."""
    deadline_s = time.monotonic() + STATUSES_S_MAX
    async with aiohttp.ClientSession() as session:
        while await _pending(pool, session, service_url):
            if time.monotonic() > deadline_s:
                raise Unreachable(f"the statuses did not arrive within {STATUSES_S_MAX:.0f} s")
            await asyncio.sleep(LOOK_PERIOD_S)


async def judge(pool: Pool, service_url: str, campaign_id: int) -> Verdict:
    """Compare the ledger with the campaign, recipient by recipient."""
    async with aiohttp.ClientSession() as session:
        sent = await _ledger(session, service_url)
    states = await _states(pool, campaign_id)
    report = await campaign_report(pool, campaign_id)
    forgotten = [phone for phone, state in states.items() if phone not in sent and state not in NEVER_SENT]
    return Verdict(
        messages=sent.total(),
        twice=sum(count > 1 for count in sent.values()),
        forgotten=len(forgotten),
        strangers=len(sent.keys() - states.keys()),
        unknown=report.status.counts[RecipientState.UNKNOWN],
        adds_up=report.audience_adds_up and report.counts_add_up,
    )


async def _pending(pool: Pool, session: aiohttp.ClientSession, service_url: str) -> bool:
    summary = await _get(session, f"{service_url}/_emulator/events/summary")
    return bool(summary["pending"] or await pool.fetchval(statements("inbox")["has_events"]))


async def _ledger(session: aiohttp.ClientSession, service_url: str) -> Counter[str]:
    """Return how many messages the service accepted for each recipient."""
    sent: Counter[str] = Counter()
    after: int | None = None
    while True:
        query = {"limit": str(LEDGER_PAGE)} | ({} if after is None else {"after": str(after)})
        page = await _get(session, f"{service_url}/_emulator/ledger", query)
        sent.update(message["to"] for message in page["messages"])
        if not page["messages"] or page["next"] is None:
            return sent
        after = page["next"]


async def _states(pool: Pool, campaign_id: int) -> dict[str, RecipientState]:
    states: dict[str, RecipientState] = {}
    async for page in export_rows(pool, campaign_id):
        states.update((row[_PHONE].removeprefix("+"), RecipientState(row[_STATE])) for row in page)
    return states


async def _get(
    session: aiohttp.ClientSession, url: str, query: dict[str, str] | None = None
) -> dict[str, Any]:
    async with session.get(url, params=query) as response:
        response.raise_for_status()
        found: dict[str, Any] = await response.json()
        return found
