"""Campaigns in pages, each with what the service accepted so far, and what a person must see to first."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import asyncpg

from campaigns.results.status import NOBODY_SENDS, stored_code
from engine.core.states import CampaignState, ReasonCode
from engine.store.database import Connection, Pool
from engine.store.queries import queries

PAGE_MAX = 100
# A running campaign waits for these until somebody acts. Its window and messaging limit open by themselves.
_STUCK = (ReasonCode.NOBODY_SENDS, ReasonCode.DISK_FULL, ReasonCode.RESULTS_NOT_STORED)


@dataclass(frozen=True, slots=True)
class ListedCampaign:
    """A campaign of a list. `accepted`: messages that the service accepted. `needs_person`: it does not go on
    until somebody acts. `test_of`: the campaign that this one of `campaign test-send` tests.
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


@dataclass(frozen=True, slots=True)
class CampaignPage:
    """`next`: what continues the list as `before`; None at its end."""

    campaigns: list[ListedCampaign]
    next: int | None


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
    owned = {
        row["phone_number_id"] for row in await connection.fetch(queries("campaign_control")["owned_numbers"])
    }
    listed = [_listed(row, owned) for row in rows]
    return CampaignPage(listed, listed[-1].campaign_id if len(listed) == limit else None)


async def accepted_messages(pool: Pool, campaign_id: int) -> int:
    """How many messages of a campaign the service accepted, as its list shows it."""
    return int(await pool.fetchval(queries("results_pages")["accepted"], campaign_id))


def _listed(row: asyncpg.Record, owned: set[str]) -> ListedCampaign:
    state, code = CampaignState(row["state"]), stored_code(row["reason_code"])
    found = {**dict(row), "state": state, "reason_code": code}
    listed = ListedCampaign(**found, needs_person=needs_person(state, code))
    if state is CampaignState.RUNNING and owned.isdisjoint(listed.phone_number_ids):
        return replace(listed, reason=NOBODY_SENDS, reason_code=ReasonCode.NOBODY_SENDS, needs_person=True)
    return listed


def needs_person(state: CampaignState, code: ReasonCode | None) -> bool:
    """Whether a campaign does not go on until somebody acts. A pause by hand is meant."""
    if state is CampaignState.PAUSED:
        return code is not ReasonCode.PAUSED_BY_HAND
    if state is CampaignState.DRAFT:
        return code is ReasonCode.START_APPROVAL_NEEDED
    if state is CampaignState.RUNNING:
        return code in _STUCK
    return state is CampaignState.FINISHED and code is ReasonCode.IN_DOUBT
