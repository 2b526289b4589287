"""A stored campaign, found by its name or its external id."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches

import asyncpg

from drumbeat.campaigns.describe_database import describe_database
from drumbeat.campaigns.sql import statements
from drumbeat.engine.core.states import CampaignState, ReasonCode
from drumbeat.engine.errors import NotFound, TryLater
from drumbeat.engine.store.database import Connection, Pool


@dataclass(frozen=True, slots=True)
class Campaign:
    """A campaign as stored. `planned_at` None means that its planning still runs or was interrupted.
    `test_of` is the campaign that this one, of `campaign test-send`, tests. `retry_of` is the campaign whose
    failed recipients this one sends to.
    """

    campaign_id: int
    name: str
    external_id: str | None
    state: CampaignState
    reason: str
    reason_code: ReasonCode | None
    template: str
    language: str
    phone_number_ids: list[str]
    on_unknown: str
    start_at: datetime | None
    expires_at: datetime | None
    max_failed: str | None
    audience_rows: int
    rejected: int
    duplicates: int
    recipients: int
    created_at: datetime
    planned_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    test_of: str | None
    retry_of: str | None


async def find_campaign(database: Pool | Connection, name: str) -> Campaign:
    """Return the campaign with this name, else with this external id. `external:KEY` is the external id KEY.

    Raise NotFound, which names the database and similar names. A caller that changes the campaign goes on
    with its id. A name is looked up once, because it may mean another campaign a moment later.
    """
    row = await database.fetchrow(statements("campaign_control")["find"], name, None)
    if row is not None:
        return _campaign(row)
    names = [row["name"] for row in await database.fetch(statements("campaign_control")["names_like"])]
    near = get_close_matches(name, names, 3)
    raise NotFound(
        f'there is no campaign "{name}"',
        where=await describe_database(database),
        remedy=f"did you mean {' or '.join(near)}?" if near else "`drumbeat campaign list` shows all",
    )


async def retries_of(database: Pool | Connection, campaign: Campaign) -> list[str]:
    """Return the names of the campaign's retries, the first one first."""
    rows = await database.fetch(statements("campaign_control")["retries"], campaign.campaign_id)
    return [row["name"] for row in rows]


def _campaign(row: asyncpg.Record) -> Campaign:
    return Campaign(
        **{**dict(row), "state": CampaignState(row["state"]), "reason_code": stored_code(row["reason_code"])}
    )


def require_planned(campaign: Campaign) -> None:
    """Raise TryLater if the recipients of the campaign are not all stored yet."""
    if campaign.planned_at is None:
        raise TryLater(
            f'the campaign "{campaign.name}" is not fully planned: its create still runs or was interrupted',
            remedy="wait for it, or repeat the same `campaign create`",
        )


def stored_code(code: str | None) -> ReasonCode | None:
    """Return the code, or None for one that a later version stored. The words beside it still say why."""
    return ReasonCode(code) if code in set(ReasonCode) else None
