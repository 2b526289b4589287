"""Campaigns in pages, each with what the service accepted so far, and what a person must see to first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import asyncpg

from campaigns.results.number_progress import NumberProgress
from campaigns.results.status import (
    BY_HAND,
    NOBODY_SENDS,
    number_progress,
    present_reason,
    read_stoppers,
    stored_code,
)
from campaigns.results.why import Person, Why, explain
from engine.core.states import CampaignState, ReasonCode
from engine.store.database import Connection, Pool
from engine.store.queries import queries

PAGE_MAX = 100
NEEDING_MAX = 50  # looked at for whether they need a person: more are not read anyway
# A running campaign waits for these until somebody acts. Its window and messaging limit open by themselves.
_STUCK = (ReasonCode.NOBODY_SENDS, ReasonCode.DISK_FULL, ReasonCode.RESULTS_NOT_STORED)


@dataclass(frozen=True, slots=True)
class ListedCampaign:
    """A campaign of a list. `accepted`: messages that the service accepted. `needs_person`: it does not go on
    until somebody acts. `test_of`: the campaign that this one of `campaign test-send` tests. `why`: what it
    waits for, or is slowed by.
    """

    campaign_id: int
    name: str
    state: CampaignState
    reason: str
    reason_code: ReasonCode | None
    template: str
    language: str
    phone_number_ids: list[str]
    start_at: datetime | None
    expires_at: datetime | None
    recipients: int
    accepted: int
    created_at: datetime
    planned_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    test_of: str | None
    needs_person: bool
    why: list[Why]


@dataclass(frozen=True, slots=True)
class CampaignPage:
    """`next`: what continues the list as `before`; None at its end."""

    campaigns: list[ListedCampaign]
    next: int | None


class _Facts(NamedTuple):
    """What the reasons of several campaigns are made of, read once for all of them."""

    numbers: Mapping[str, NumberProgress]
    doubts: Mapping[int, tuple[int, int]]
    stoppers: Mapping[int, Person]


async def campaign_page(
    connection: Connection,
    *,
    before: int | None = None,
    states: Sequence[CampaignState] = (),
    limit: int = PAGE_MAX,
    tests: bool = False,
) -> CampaignPage:
    """The newest campaigns with an id below `before`. Costs nothing for each message."""
    wanted = [state.value for state in states] or None
    limit = max(1, min(limit, PAGE_MAX))
    rows = await connection.fetch(queries("results_pages")["campaigns"], before, wanted, limit, tests)
    listed = await _listed(connection, rows)
    return CampaignPage(listed, listed[-1].campaign_id if len(listed) == limit else None)


async def campaigns_that_need_a_person(connection: Connection) -> list[ListedCampaign]:
    """Those of all campaigns that do not go on until somebody acts, the newest first, NEEDING_MAX at most."""
    rows = await connection.fetch(queries("results_pages")["stuck"], NEEDING_MAX)
    return [campaign for campaign in await _listed(connection, rows) if campaign.needs_person]


async def accepted_messages(pool: Pool, campaign_id: int) -> int:
    """How many messages of a campaign the service accepted, as its list shows it."""
    return int(await pool.fetchval(queries("results_pages")["accepted"], campaign_id))


async def _listed(connection: Connection, rows: Sequence[asyncpg.Record]) -> list[ListedCampaign]:
    facts = await _read_facts(connection, rows)
    return [_with_reason(row, facts) for row in rows]


async def _read_facts(connection: Connection, rows: Sequence[asyncpg.Record]) -> _Facts:
    sql = queries("campaign_control")
    numbers = sorted({number for row in rows for number in row["phone_number_ids"]})
    in_doubt = [row["campaign_id"] for row in rows if row["reason_code"] == ReasonCode.IN_DOUBT]
    doubts = await connection.fetch(sql["unknown_counts"], in_doubt) if in_doubt else []
    by_hand = [row["campaign_id"] for row in rows if row["reason_code"] in BY_HAND]
    return _Facts(
        {number.phone_number_id: number for number in await number_progress(connection, None, numbers)},
        {row["campaign_id"]: (row["unknown"], row["pruned"]) for row in doubts},
        await read_stoppers(connection, by_hand) if by_hand else {},
    )


def _with_reason(row: asyncpg.Record, facts: _Facts) -> ListedCampaign:
    """The campaign with the reason that holds now."""
    campaign_id, state = row["campaign_id"], CampaignState(row["state"])
    numbers = [facts.numbers[number] for number in row["phone_number_ids"]]
    doubts = facts.doubts.get(campaign_id, (0, 0))
    reason, code = present_reason(row["reason"], stored_code(row["reason_code"]), *doubts)
    why = explain(state, reason, code, numbers, stopped_by=facts.stoppers.get(campaign_id))
    if state is CampaignState.RUNNING and not any(number.owner for number in numbers):
        reason, code, why = NOBODY_SENDS, ReasonCode.NOBODY_SENDS, []
    found = {**dict(row), "state": state, "reason": reason, "reason_code": code}
    return ListedCampaign(**found, needs_person=needs_person(state, code), why=why)


def needs_person(state: CampaignState, code: ReasonCode | None) -> bool:
    """Whether a campaign does not go on until somebody acts. A pause by hand is meant."""
    if state is CampaignState.PAUSED:
        return code is not ReasonCode.PAUSED_BY_HAND
    if state is CampaignState.RUNNING:
        return code in _STUCK
    return state is CampaignState.FINISHED and code is ReasonCode.IN_DOUBT
