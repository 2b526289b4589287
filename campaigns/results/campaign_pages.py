"""The campaigns in pages, each with what the service accepted so far, and those that wait for a person."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

import asyncpg

from drumbeat.campaigns.campaign import stored_code
from drumbeat.campaigns.results.funnel import funnel
from drumbeat.campaigns.results.status import (
    BY_HAND,
    NOBODY_SENDS,
    number_progress,
    present_reason,
    read_stoppers,
)
from drumbeat.campaigns.results.why import Why, explain
from drumbeat.campaigns.sql import statements
from drumbeat.engine.core.states import CampaignState, ReasonCode, RecipientState
from drumbeat.engine.store.database import Connection, Pool

PAGE_MAX = 100
NEEDING_MAX = 50  # looked at for whether they need a person: more are not read anyway
# A running campaign waits for these until somebody acts. Its window and messaging limit open by themselves.
_STUCK = (ReasonCode.NOBODY_SENDS, ReasonCode.DISK_FULL, ReasonCode.RESULTS_NOT_STORED)


@dataclass(frozen=True, slots=True)
class ListedCampaign:
    """A campaign of a list. `accepted` counts messages that the service accepted. `needs_person` says that it
    does not go on until somebody acts. `test_of` is the campaign that this one, of `campaign test-send`,
    tests. `retry_of` is the one whose failed recipients it sends to. `why` says what it waits for, or what
    slows it down. `delivered` (read or not), `read` and `failed` count people; null means that they were not
    counted for this list.
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
    retry_of: str | None
    needs_person: bool
    why: list[Why]
    delivered: int | None = None
    read: int | None = None
    failed: int | None = None


@dataclass(frozen=True, slots=True)
class CampaignPage:
    """A page of campaigns. `next` continues the list as `before`; None at its end."""

    campaigns: list[ListedCampaign]
    next: int | None


class Stored(Protocol):
    """The part of a campaign that its reason is made from."""

    @property
    def campaign_id(self) -> int: ...
    @property
    def state(self) -> CampaignState: ...
    @property
    def reason(self) -> str: ...
    @property
    def reason_code(self) -> ReasonCode | None: ...
    @property
    def phone_number_ids(self) -> list[str]: ...
    @property
    def start_at(self) -> datetime | None: ...


async def campaign_page(
    connection: Connection,
    *,
    before: int | None = None,
    states: Sequence[CampaignState] = (),
    limit: int = PAGE_MAX,
    tests: bool = False,
    part_of_name: str | None = None,
) -> CampaignPage:
    """Return the newest campaigns with an id below `before`. The cost does not grow with the messages.

    `part_of_name` stands anywhere in the name, in any case of letters.
    """
    wanted = [state.value for state in states] or None
    limit = max(1, min(limit, PAGE_MAX))
    rows = await connection.fetch(
        statements("results_pages")["campaigns"], before, wanted, limit, tests, part_of_name or None
    )
    listed = await _listed(connection, rows)
    return CampaignPage(listed, listed[-1].campaign_id if len(listed) == limit else None)


async def campaigns_that_need_a_person(connection: Connection) -> list[ListedCampaign]:
    """Return the campaigns that do not go on until somebody acts, the newest first, NEEDING_MAX at most."""
    rows = await connection.fetch(statements("results_pages")["stuck"], NEEDING_MAX)
    return [campaign for campaign in await _listed(connection, rows) if campaign.needs_person]


async def read_counts(pool: Pool, campaign_ids: Sequence[int]) -> dict[int, dict[RecipientState, int]]:
    """Return how many recipients of each campaign are accepted, sent, delivered, read and failed; 0 for other
    states. This takes 1 µs for each range.
    """
    rows = await pool.fetch(statements("results_pages")["counts"], campaign_ids)
    return {row["campaign_id"]: {state: row.get(state.value, 0) for state in RecipientState} for row in rows}


def with_counts(found: CampaignPage, counts: Mapping[int, Mapping[RecipientState, int]]) -> CampaignPage:
    """Return the page with the counts of each campaign. A campaign that has no ranges yet has counts of 0."""
    none = dict.fromkeys(RecipientState, 0)
    return replace(
        found, campaigns=[_counted(each, counts.get(each.campaign_id, none)) for each in found.campaigns]
    )


def _counted(campaign: ListedCampaign, counts: Mapping[RecipientState, int]) -> ListedCampaign:
    steps = funnel(counts, campaign.accepted)
    return replace(
        campaign,
        accepted=steps[RecipientState.ACCEPTED],
        delivered=steps[RecipientState.DELIVERED],
        read=steps[RecipientState.READ],
        failed=counts[RecipientState.FAILED],
    )


async def accepted_messages(pool: Pool, campaign_id: int) -> int:
    """Return how many messages of a campaign the service accepted, as the list of campaigns shows it."""
    return int(await pool.fetchval(statements("results_pages")["accepted"], campaign_id))


async def whys_of(connection: Connection, campaigns: Sequence[Stored]) -> dict[int, list[Why]]:
    """Return why each of these campaigns is in its state, by its id. All are read at once."""
    phone_number_ids = sorted({number for campaign in campaigns for number in campaign.phone_number_ids})
    progress = await number_progress(connection, None, phone_number_ids)
    by_hand = [campaign.campaign_id for campaign in campaigns if campaign.reason_code in BY_HAND]
    stoppers = await read_stoppers(connection, by_hand) if by_hand else {}
    numbers = {number.phone_number_id: number for number in progress}
    return {
        campaign.campaign_id: explain(
            campaign.state,
            campaign.reason,
            campaign.reason_code,
            [numbers[number] for number in campaign.phone_number_ids],
            stopped_by=stoppers.get(campaign.campaign_id),
            start_at=campaign.start_at,
        )
        for campaign in campaigns
        if campaign.reason_code is not ReasonCode.NOBODY_SENDS
    }


async def _listed(connection: Connection, rows: Sequence[asyncpg.Record]) -> list[ListedCampaign]:
    sql = statements("campaign_control")
    owned = {row["phone_number_id"] for row in await connection.fetch(sql["owned_numbers"])}
    in_doubt = [row["campaign_id"] for row in rows if row["reason_code"] == ReasonCode.IN_DOUBT]
    found = await connection.fetch(sql["unknown_counts"], in_doubt) if in_doubt else []
    doubts = {row["campaign_id"]: (row["unknown"], row["pruned"]) for row in found}
    listed = [_present(row, doubts.get(row["campaign_id"], (0, 0)), owned) for row in rows]
    whys = await whys_of(connection, listed)
    return [replace(campaign, why=whys.get(campaign.campaign_id, [])) for campaign in listed]


def _present(row: asyncpg.Record, doubts: tuple[int, int], owned: set[str]) -> ListedCampaign:
    """Return the campaign with the reason that holds now."""
    state = CampaignState(row["state"])
    reason, code = present_reason(row["reason"], stored_code(row["reason_code"]), *doubts)
    if state is CampaignState.RUNNING and owned.isdisjoint(row["phone_number_ids"]):
        reason, code = NOBODY_SENDS, ReasonCode.NOBODY_SENDS
    found = {**dict(row), "state": state, "reason": reason, "reason_code": code}
    return ListedCampaign(**found, needs_person=needs_person(state, code), why=[])


def needs_person(state: CampaignState, code: ReasonCode | None) -> bool:
    """Return whether a campaign waits until somebody acts. A pause by hand does not count."""
    if state is CampaignState.PAUSED:
        return code is not ReasonCode.PAUSED_BY_HAND
    if state is CampaignState.DRAFT:
        return code is ReasonCode.START_APPROVAL_NEEDED
    if state is CampaignState.RUNNING:
        return code in _STUCK
    return state is CampaignState.FINISHED and code is ReasonCode.IN_DOUBT
