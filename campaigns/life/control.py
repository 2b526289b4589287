"""The actions of a person on a planned campaign: find, list, start, pause, resume and cancel it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeAlias

from drumbeat.campaigns.campaign import Campaign, _campaign, find_campaign, require_planned
from drumbeat.campaigns.command_text import command_text
from drumbeat.campaigns.life.stopped_numbers import StoppedNumber, require_sending_number, stopped_numbers
from drumbeat.campaigns.planning.start_time import require_now
from drumbeat.campaigns.results.status import NOBODY_SENDS, present_reason
from drumbeat.campaigns.sql import statements
from drumbeat.engine.core.states import CampaignEvent, CampaignState, IllegalTransition, ReasonCode, allows
from drumbeat.engine.errors import ConfigurationError, TryLater, UsageError
from drumbeat.engine.process.identity import this_process
from drumbeat.engine.store.abandoned_numbers import recover_abandoned_numbers
from drumbeat.engine.store.campaign_states import apply_event, apply_if_allowed
from drumbeat.engine.store.canaries import CANARY_PAUSES, accept_pause, approve_canary, read_canary
from drumbeat.engine.store.closing import close_ranges
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.queries import queries
from drumbeat.engine.store.sending_processes import live_workers

LISTED_MAX = 1_000
PAUSED_BY_HAND = "paused by hand"
CANCELLED_BY_HAND = "cancelled by hand"


Check: TypeAlias = Callable[[Campaign], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Seen:
    """A campaign as somebody saw it. A draft that was edited or planned anew since is another one."""

    campaign_id: int
    content_hash: str


@dataclass(frozen=True, slots=True)
class HeldNumber:
    """A number that `owner`, a run of the campaign `campaign`, has for itself."""

    number: str
    owner: str
    campaign: str


@dataclass(frozen=True, slots=True)
class CampaignChange:
    """The state of a campaign after a command.

    `changed` is False if it had this state already. `skipped` is how many recipients a cancel skipped.
    `nobody_sends` says that the campaign is scheduled or running, and that no process has any of its numbers.
    `stopped_numbers` send only after a person resumes them, `held_numbers` only after the run of another
    campaign has ended. `stays_paused` says why `resume --all` left it
    paused and what to do; else it is empty.
    """

    name: str
    state: CampaignState
    changed: bool
    skipped: int = 0
    nobody_sends: bool = False
    stopped_numbers: tuple[StoppedNumber, ...] = ()
    held_numbers: tuple[HeldNumber, ...] = ()
    stays_paused: str = ""


async def read_campaign(database: Pool | Connection, found: Campaign) -> Campaign:
    """Return the campaign as it is now. Raise TryLater if it was deleted or replanned since `found`."""
    row = await database.fetchrow(statements("campaign_control")["find"], None, found.campaign_id)
    if row is None:
        raise TryLater(
            f'the campaign "{found.name}" was deleted or planned anew meanwhile',
            remedy="look at it again, and repeat the command",
        )
    return _campaign(row)


async def list_campaigns(
    connection: Connection,
    *,
    tests: bool = False,
    state: CampaignState | None = None,
    since: datetime | None = None,
    limit: int = LISTED_MAX,
) -> list[Campaign]:
    """Return the newest campaigns, the newest first: at most `limit`, those in `state`, created `since`.
    `tests` includes those of `campaign test-send`.
    """
    rows = await connection.fetch(statements("campaign_control")["list"], limit, tests, state, since)
    listed = [_campaign(row) for row in rows]
    in_doubt = [campaign.campaign_id for campaign in listed if campaign.reason_code is ReasonCode.IN_DOUBT]
    found = await connection.fetch(statements("campaign_control")["unknown_counts"], in_doubt)
    unknown = {row["campaign_id"]: (row["unknown"], row["pruned"]) for row in found}
    owned = await _owned_numbers(connection)
    return [_present(campaign, *unknown.get(campaign.campaign_id, (0, 0)), owned) for campaign in listed]


async def _owned_numbers(connection: Connection) -> set[str]:
    return {
        row["phone_number_id"]
        for row in await connection.fetch(statements("campaign_control")["owned_numbers"])
    }


def _nobody_sends(campaign: Campaign, owned: AbstractSet[str]) -> bool:
    return campaign.state is CampaignState.RUNNING and owned.isdisjoint(campaign.phone_number_ids)


def _present(campaign: Campaign, unknown: int, pruned: int, owned: AbstractSet[str]) -> Campaign:
    """Return the campaign with the reason that holds now."""
    if _nobody_sends(campaign, owned):
        return replace(campaign, reason=NOBODY_SENDS, reason_code=ReasonCode.NOBODY_SENDS)
    reason, code = present_reason(campaign.reason, campaign.reason_code, unknown, pruned)
    return replace(campaign, reason=reason, reason_code=code)


async def is_future(connection: Connection, campaign: Campaign) -> bool:
    """Return whether the start time is in the future by the database's clock. The same clock starts it."""
    return bool(await connection.fetchval(statements("campaign_control")["is_future"], campaign.campaign_id))


async def no_check(_: Campaign) -> None:
    """Check nothing. It serves callers that have compared the templates already."""


async def start(
    connection: Connection,
    name: str | Campaign,
    *,
    actor: str = "",
    check: Check = no_check,
    seen: Seen | None = None,
) -> CampaignChange:
    """Release a campaign to the workers: at once, or at its start time.

    `actor`, here and below, is the one who asked for it, for the audit. `check` raises if the campaign's
    messages would be refused; see `TemplateCheck`. Raise TryLater if it is paused, since only `resume` lifts
    a pause, if it is not planned, if it would start now and all of its numbers are stopped, or if it is not
    as it was `seen`.
    """
    campaign = await _found(connection, name)
    return await _release(connection, campaign, CampaignEvent.START, actor, check, seen)


async def resume(
    connection: Connection,
    name: str | Campaign,
    *,
    actor: str = "",
    check: Check = no_check,
    seen: Seen | None = None,
    now: bool = False,
) -> CampaignChange:
    """Lift a pause. Before its start time, the campaign waits for that time again.

    Raise TryLater if all of its numbers are stopped: it would be paused again at once, and only
    `resume_number` lifts the stop of a number. Raise TryLater if it is not as it was `seen`. Raise
    StartsAtOnce, unless `now`, if it waited for a start time that has passed.
    """
    campaign = await _found(connection, name)
    return await _release(connection, campaign, CampaignEvent.RESUME, actor, check, seen, now=now)


async def pause(connection: Connection, name: str, *, actor: str = "") -> CampaignChange:
    """Stop claiming; claimed recipients are still sent to. Running processes follow within a second."""
    async with connection.transaction():
        campaign = await lock_campaign(connection, await find_campaign(connection, name))
        if campaign.state is CampaignState.PAUSED:
            return CampaignChange(campaign.name, campaign.state, changed=False)
        event, code = CampaignEvent.PAUSE, ReasonCode.PAUSED_BY_HAND
        state = await apply_event(connection, campaign.campaign_id, event, PAUSED_BY_HAND, code)
        await _audit(connection, campaign.campaign_id, "pause", actor)
    return CampaignChange(campaign.name, state, changed=True)


async def pause_all(connection: Connection, *, actor: str = "") -> list[CampaignChange]:
    """Pause every scheduled or running campaign. This is the emergency stop."""
    moved = []
    for row in await connection.fetch(statements("campaign_control")["active"]):
        event, code = CampaignEvent.PAUSE, ReasonCode.PAUSED_BY_HAND
        state = await apply_if_allowed(connection, row["campaign_id"], event, PAUSED_BY_HAND, code)
        if state is not None:
            await _audit(connection, row["campaign_id"], "pause", actor)
            moved.append(CampaignChange(row["name"], state, changed=True))
    return moved


async def resume_all(
    connection: Connection, *, actor: str = "", check: Check = no_check
) -> list[CampaignChange]:
    """Lift every pause, whatever made it.

    A campaign whose numbers are all stopped stays paused. So does one that `check` refuses. So does one that
    never started: it may have been a draft, which nobody released. So does one whose canary waits for a
    person's decision.
    """
    moved = []
    for row in await connection.fetch(statements("campaign_control")["paused"]):
        name = row["name"]
        if not row["started"]:
            release = command_text("campaign", "resume", name, *(["--now"] if row["is_late"] else []))
            moved.append(_stays_paused(name, f"it has never started; release it with `{release}`"))
            continue
        if row["reason_code"] in CANARY_PAUSES:
            decide = command_text("campaign", "resume", name)
            moved.append(_stays_paused(name, f"{row['reason']}; send the rest with `{decide}`"))
            continue
        try:
            moved.append(await resume(connection, name, actor=actor, check=check))
        except IllegalTransition:  # it ended meanwhile
            continue
        except (TryLater, ConfigurationError) as refusal:
            moved.append(_stays_paused(name, str(refusal)))
    return moved


def _stays_paused(name: str, reason: str) -> CampaignChange:
    return CampaignChange(name, CampaignState.PAUSED, changed=False, stays_paused=reason)


async def approve(connection: Connection, name: str | Campaign, *, actor: str = "") -> CampaignChange:
    """Approve the canary: the rest is sent when it is healthy, or at once if it waits for the approval.

    Raise UsageError if the campaign has no canary. Raise TryLater if its canary paused it for another reason.
    """
    async with connection.transaction():
        campaign = await lock_campaign(connection, await _found(connection, name))
        canary = await read_canary(connection, campaign.campaign_id)
        if canary is None:
            raise UsageError(
                'the campaign "{name}" has no canary',
                remedy="see {canary} of `campaign create`",
                values={"name": campaign.name},
            )
        if campaign.reason_code in CANARY_PAUSES - {ReasonCode.APPROVAL_NEEDED}:
            resume_it = command_text("campaign", "resume", campaign.name)
            raise TryLater(
                f'the campaign "{campaign.name}" is paused: {campaign.reason}',
                remedy=f"send the rest all the same with `{resume_it}`",
            )
        if canary.approved_at is not None or canary.passed_at is not None:
            return CampaignChange(campaign.name, campaign.state, changed=False)
        await approve_canary(connection, campaign.campaign_id)
        await _audit(connection, campaign.campaign_id, "approve", actor)
        if campaign.reason_code is ReasonCode.APPROVAL_NEEDED:
            return await resume(connection, campaign)
    return CampaignChange(campaign.name, campaign.state, changed=True)


async def cancel(connection: Connection, name: str, *, actor: str = "") -> CampaignChange:
    """End a campaign for good and skip all recipients that are not claimed.

    If the call is killed, a second one finishes it. Raise TryLater if the campaign is not planned.
    """
    async with connection.transaction():
        campaign = await lock_campaign(connection, await find_campaign(connection, name))
        require_planned(campaign)
        changed = campaign.state is not CampaignState.CANCELLED
        if changed:
            event, code = CampaignEvent.CANCEL, ReasonCode.CANCELLED_BY_HAND
            await apply_event(connection, campaign.campaign_id, event, CANCELLED_BY_HAND, code)
            await _audit(connection, campaign.campaign_id, "cancel", actor)
    skipped = await skip_remaining(connection, campaign.campaign_id, CampaignState.CANCELLED)
    return CampaignChange(campaign.name, CampaignState.CANCELLED, changed, skipped)


async def skip_remaining(connection: Connection, campaign_id: int, state: CampaignState) -> int:
    """Skip the remaining recipients of a cancelled or expired campaign; return how many. Idempotent."""
    skipped = await close_ranges(connection, campaign_id, state.value)
    # A killed sender left recipients in doubt, and nobody else would mark them as such any more.
    await recover_abandoned_numbers(connection, this_process())
    return skipped


async def _found(connection: Connection, name: str | Campaign) -> Campaign:
    return name if isinstance(name, Campaign) else await find_campaign(connection, name)


async def _release(
    connection: Connection,
    campaign: Campaign,
    asked: CampaignEvent,
    actor: str,
    check: Check,
    seen: Seen | None,
    *,
    now: bool = False,
) -> CampaignChange:
    if campaign.planned_at is not None and allows(campaign.state, asked):
        await check(campaign)  # a call of the service, so the campaign is not locked meanwhile
    async with connection.transaction():
        campaign = await lock_campaign(connection, campaign)
        require_planned(campaign)
        await _require_seen(connection, campaign, seen)
        if campaign.state in (CampaignState.RUNNING, CampaignState.SCHEDULED):
            return await _released(connection, campaign, campaign.state, changed=False)
        if campaign.state is CampaignState.PAUSED and asked is CampaignEvent.START:
            raise TryLater(
                f'the campaign "{campaign.name}" is paused: {campaign.reason}',
                remedy="lift the pause with `campaign resume`",
            )
        if not allows(campaign.state, asked):
            raise IllegalTransition(campaign.state, asked)
        event = CampaignEvent.SCHEDULE if await is_future(connection, campaign) else asked
        if event is asked:
            if event is CampaignEvent.RESUME:
                require_now(campaign.name, campaign.start_at, campaign.started_at, now=now)
            await require_sending_number(connection, campaign.name, campaign.phone_number_ids)
        if campaign.state is CampaignState.PAUSED:
            await accept_pause(connection, campaign.campaign_id, campaign.reason_code)
        state = await apply_event(connection, campaign.campaign_id, event, "")
        await _audit(connection, campaign.campaign_id, asked.value, actor)
    return await _released(connection, campaign, state, changed=True)


async def _require_seen(connection: Connection, campaign: Campaign, seen: Seen | None) -> None:
    if seen is None:
        return
    content_hash = await connection.fetchval(statements("campaigns")["content_hash"], campaign.campaign_id)
    if (campaign.campaign_id, content_hash) != (seen.campaign_id, seen.content_hash):
        raise TryLater(
            f'the campaign "{campaign.name}" was changed meanwhile',
            remedy="look at it again, and start it then",
        )


async def _released(
    connection: Connection, campaign: Campaign, state: CampaignState, *, changed: bool
) -> CampaignChange:
    owned = (await _owned_numbers(connection)) & set(campaign.phone_number_ids)
    nobody_sends = not owned and not await live_workers(connection, campaign.phone_number_ids)
    stopped = await stopped_numbers(connection, campaign.phone_number_ids)
    rows = await connection.fetch(
        statements("campaign_control")["held_numbers"], campaign.campaign_id, list(campaign.phone_number_ids)
    )
    return CampaignChange(
        campaign.name,
        state,
        changed,
        nobody_sends=nobody_sends,
        stopped_numbers=stopped,
        held_numbers=tuple(HeldNumber(**dict(row)) for row in rows),
    )


async def lock_campaign(connection: Connection, found: Campaign) -> Campaign:
    """Return the campaign, locked until the transaction ends, because two processes may change it at once."""
    await connection.execute(queries("campaigns")["lock_state"], found.campaign_id)
    return await read_campaign(connection, found)


async def _audit(connection: Connection, campaign_id: int, action: str, actor: str) -> None:
    if actor:
        await connection.execute(queries("campaigns")["audit"], actor, action, campaign_id, {})
