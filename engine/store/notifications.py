"""The notifications in the database: written with the change that they report, delivered later by any
process.

Law: `add_…` joins the caller's transaction, so that the change and its notification are committed together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import asyncpg

from drumbeat.engine.core.max_failed import exceeds_max_failed
from drumbeat.engine.core.notification import (
    GIVE_UP_S,
    QUIET_S,
    Channel,
    Notification,
    NotificationEvent,
    event_of,
)
from drumbeat.engine.core.states import CampaignState, ReasonCode, RecipientState
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.queries import queries

# The time that a process has for a delivery that it takes; far longer than an attempt may take. If the
# process is killed, another one delivers after this time.
LEASE_S = 60.0
TAKEN_MAX = 50


@dataclass(frozen=True, slots=True)
class Due:
    """A delivery that this process has taken. `attempt_no` counts from 1."""

    notification_id: int
    channel: Channel
    attempt_no: int
    notification: Notification


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a delivery. `state` is delivered, given_up or waiting, which tries again in `wait_s`."""

    notification_id: int
    channel: Channel
    state: str
    problem: str | None
    wait_s: float


@dataclass(frozen=True, slots=True)
class Undelivered:
    """The notifications that a channel did not deliver in the last week: how many wait, or were given up."""

    channel: Channel
    waiting: int
    given_up: int
    problem: str


async def add_of_campaign(
    connection: Connection, campaign_id: int, state: CampaignState, reason: str, code: ReasonCode | None
) -> None:
    """Add a notification that the campaign got this state, if people are to be told of it.

    The pauses of messages to one person are told together: one for each cause and hour, not one for each.
    """
    if event_of(state, code) is None:
        return
    told = await connection.fetchval(
        queries("notifications")["told_of_messages"],
        campaign_id,
        NotificationEvent.CAMPAIGN_PAUSED,
        code or "",
        QUIET_S,
    )
    event = event_of(state, code, to_one=told is not None)
    if event is not None and not told:
        await _add(connection, event, campaign_id=campaign_id, state=state, reason=reason, code=code)


async def add_of_number(connection: Connection, phone_number_id: str, reason: str) -> None:
    """Add a notification that the number was stopped.

    It adds none if every campaign of the number is paused for that, because people are told of those pauses.
    """
    if not await connection.fetchval(queries("notifications")["told_by_campaigns"], phone_number_id):
        await _add(
            connection,
            NotificationEvent.NUMBER_STOPPED,
            phone_number_id=phone_number_id,
            reason=reason,
            code=ReasonCode.NUMBERS_STOPPED,
        )


async def add_warning(
    connection: Connection, code: str, reason: str, phone_number_id: str | None = None
) -> None:
    """Add a warning about a number, a template or the account. Each change is told, however soon it comes."""
    event = NotificationEvent.WARNING
    await _add(connection, event, phone_number_id=phone_number_id, reason=reason, code=code, quiet_s=0.0)


async def add_of_rollback(connection: Connection, reason: str) -> None:
    """Add a notification that the database went back in time: one for all campaigns paused for it."""
    event, code = NotificationEvent.DATABASE_ROLLBACK_DETECTED, ReasonCode.DATABASE_ROLLED_BACK
    await _add(connection, event, reason=reason, code=code)


async def add_of_failures(connection: Connection) -> None:
    """Add a notification, once for each campaign, that more recipients failed than its limit allows."""
    event = NotificationEvent.FAILURES_EXCEEDED
    for row in await connection.fetch(queries("notifications")["with_failures"], event):
        failed, recipients, limit = row["failed"], row["recipients"], row["max_failed"]
        if exceeds_max_failed(failed, recipients, limit):
            reason = f"{failed:,} of {recipients:,} recipients failed, more than the limit of {limit}"
            campaign_id, state = row["campaign_id"], CampaignState(row["state"])
            await _add(connection, event, campaign_id=campaign_id, state=state, reason=reason, quiet_s=None)


async def _add(
    connection: Connection,
    event: NotificationEvent,
    *,
    campaign_id: int | None = None,
    phone_number_id: str | None = None,
    state: CampaignState | None = None,
    reason: str,
    code: str | None = None,
    quiet_s: float | None = QUIET_S,
) -> None:
    await connection.execute(
        queries("notifications")["add"],
        event, campaign_id, phone_number_id, state, reason, code or "", quiet_s, list(Channel),
    )  # fmt: skip


async def take_due(connection: Connection, channels: Sequence[Channel], *, gather_s: float) -> list[Due]:
    """Take the deliveries that are due on these channels. For LEASE_S, no other process takes them.

    `gather_s` is how long a delivery waits for others that can be delivered with it.
    """
    sql = queries("notifications")
    if not await connection.fetchval(sql["any_due"], channels, gather_s):
        return []
    async with connection.transaction():
        await connection.execute(sql["delete_outdated"], channels)
        rows = await connection.fetch(sql["take_due"], channels, gather_s, LEASE_S, TAKEN_MAX)
        return [await _due(connection, row) for row in rows]


async def _due(connection: Connection, row: asyncpg.Record) -> Due:
    campaign_id, recipients, counts = row["campaign_id"], None, None
    if campaign_id is not None:
        status = await connection.fetchrow(queries("progress")["status"], campaign_id)
        assert status is not None  # a notification goes with its campaign
        recipients, counts = status["recipients"], _counts(status)
    notification = Notification(
        public_id=str(row["public_id"]),
        event=NotificationEvent(row["event"]),
        at=row["happened_at"],
        reason=row["reason"],
        reason_code=row["reason_code"] or None,
        campaign=row["campaign"],
        number=row["phone_number_id"],
        state=row["state"],
        recipients=recipients,
        counts=counts,
        on_unknown=row["on_unknown"],
        external_id=row["external_id"],
    )
    return Due(row["notification_id"], Channel(row["channel"]), row["attempts"], notification)


def _counts(row: asyncpg.Record) -> dict[str, int]:
    recorded = {state.value: int(row.get(state, 0)) for state in RecipientState}
    return {**recorded, RecipientState.PENDING.value: row["recipients"] - sum(recorded.values())}


async def record(connection: Connection, results: Sequence[Result]) -> None:
    """Store the results of deliveries. Repeating it changes nothing."""
    await connection.execute(
        queries("notifications")["record"],
        [result.notification_id for result in results],
        [result.channel for result in results],
        [result.state for result in results],
        [result.problem for result in results],
        [result.wait_s for result in results],
    )


async def give_up_old(connection: Connection, channels: Sequence[Channel]) -> dict[Channel, str]:
    """Give up deliveries that nobody took in GIVE_UP_S. Return the last problem of each channel with one."""
    rows = await connection.fetch(queries("notifications")["give_up_old"], channels, GIVE_UP_S)
    return {Channel(row["channel"]): row["problem"] or "" for row in rows if row["attempts"]}


async def undelivered(database: Pool | Connection) -> list[Undelivered]:
    """Return the channels that failed in the last week."""
    rows = await database.fetch(queries("notifications")["undelivered"])
    return [Undelivered(**{**dict(row), "channel": Channel(row["channel"])}) for row in rows]
