"""The starts that need two people: one asks, another one approves.

Law: an approval holds for the campaign as it was asked for. A person who changes the draft has to ask again,
and nobody changes a campaign that waits for its start time. This rule does not apply to pauses and resumes of
a campaign that was started, nor to test messages.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto
from functools import partial

import asyncpg

from drumbeat.campaigns.actor import note_audit
from drumbeat.campaigns.campaign import Campaign, find_campaign, require_planned
from drumbeat.campaigns.life.control import CampaignChange, Seen, is_future, lock_campaign
from drumbeat.campaigns.life.release import Released, resume_checked, start_checked
from drumbeat.campaigns.planning.start_time import require_now
from drumbeat.campaigns.sql import statements
from drumbeat.engine.core.states import CampaignEvent, CampaignState, ReasonCode, allows
from drumbeat.engine.process.settings import Settings
from drumbeat.engine.store.campaign_states import set_reason
from drumbeat.engine.store.database import Connection, Pool

# Where starts need two people, nothing changes in these states. A paused campaign may change, and needs a new
# approval.
APPROVED_STATES = frozenset({CampaignState.SCHEDULED})
_UNRELEASED = (CampaignState.DRAFT, CampaignState.PAUSED)


@dataclass(frozen=True, slots=True)
class StartRequest:
    """A request of somebody to start a campaign, or of what stands in place of the hash. `person` is the one
    who asked, or who made the token of the program that asked. `approved_by` None means that nobody has
    approved it yet.
    """

    content_hash: str
    asked_by: str
    person: str
    asked_at: datetime
    approved_by: str | None


class Verdict(Enum):
    """The consequence of a person's or a program's wish to start a campaign."""

    RELEASE = auto()
    ASK = auto()
    WAIT = auto()
    APPROVE = auto()


def decide(request: StartRequest | None, content_hash: str, name: str, *, is_person: bool) -> Verdict:
    """Decide on the wish to start a campaign that was never started.

    A program may ask, and never approves. The person who made the program's token does not approve either,
    since one person would be both.
    """
    if request is None or request.content_hash != content_hash:
        return Verdict.ASK
    if request.approved_by is not None:
        return Verdict.RELEASE
    return Verdict.APPROVE if is_person and name not in (request.asked_by, request.person) else Verdict.WAIT


async def start_request(database: Pool | Connection, campaign: Campaign) -> StartRequest | None:
    """Return the request that waits for approval; None if there is none, or if the campaign changed since."""
    row = await _row(database, campaign.campaign_id)
    found = await _request(database, campaign.campaign_id)
    waits = found is not None and found.approved_by is None and found.content_hash == row["content_hash"]
    return found if waits and _needs_approval(row) else None


async def release_by_two(
    pool: Pool,
    settings: Settings,
    name: str,
    event: CampaignEvent,
    *,
    actor: str,
    person: str,
    is_person: bool,
    now: bool = False,
) -> Released:
    """Start or resume a campaign. If it was never started, do so only once a second person asks for it too.

    `person` is the one behind the actor, if the actor is a program. `now` has the meaning that it has for a
    resume. Raise the errors of `start_checked` and `resume_checked`.
    """
    release = start_checked if event is CampaignEvent.START else partial(resume_checked, now=now)
    async with pool.acquire() as connection, connection.transaction():
        campaign = await lock_campaign(connection, await find_campaign(connection, name))
        require_planned(campaign)
        row = await _row(connection, campaign.campaign_id)
        verdict = Verdict.RELEASE
        if _needs_approval(row) and allows(campaign.state, event):
            if event is CampaignEvent.RESUME and not await is_future(connection, campaign):
                require_now(campaign.name, campaign.start_at, campaign.started_at, now=now)
            request = await _request(connection, campaign.campaign_id)
            verdict = decide(request, row["content_hash"], actor, is_person=is_person)
        if verdict is Verdict.ASK:
            await _ask(connection, campaign, row["content_hash"], actor, person)
        elif verdict is Verdict.APPROVE:
            await _approve(connection, campaign, actor)
    if verdict in (Verdict.RELEASE, Verdict.APPROVE):
        seen = Seen(campaign.campaign_id, row["content_hash"])
        return await release(pool, settings, campaign.name, actor=actor, seen=seen)
    change = CampaignChange(campaign.name, campaign.state, changed=False)
    return Released([change], ["it waits for approval: another person must start it too"])


async def _ask(
    connection: Connection, campaign: Campaign, content_hash: str, actor: str, person: str
) -> None:
    await connection.execute(
        statements("console_people")["ask_start"], campaign.campaign_id, content_hash, actor, person
    )
    reason = f"{actor} asked to start it; it waits for approval by another person"
    code = ReasonCode.START_APPROVAL_NEEDED
    await set_reason(connection, campaign.campaign_id, CampaignState.DRAFT, reason, code)
    await note_audit(connection, actor, "ask-start", campaign.campaign_id)


async def _approve(connection: Connection, campaign: Campaign, actor: str) -> None:
    await connection.execute(statements("console_people")["approve_start"], campaign.campaign_id, actor)
    await set_reason(connection, campaign.campaign_id, CampaignState.DRAFT, "", None)
    await note_audit(connection, actor, "approve-start", campaign.campaign_id)


def _needs_approval(row: asyncpg.Record) -> bool:
    return not row["started"] and not row["is_test"] and row["state"] in _UNRELEASED


async def _row(database: Pool | Connection, campaign_id: int) -> asyncpg.Record:
    row = await database.fetchrow(statements("console_people")["released_before"], campaign_id)
    assert row is not None, "a campaign's row is never deleted once it is planned"
    return row


async def _request(database: Pool | Connection, campaign_id: int) -> StartRequest | None:
    row = await database.fetchrow(statements("console_people")["start_request"], campaign_id)
    return None if row is None else StartRequest(**dict(row))
