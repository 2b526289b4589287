"""The recipients in doubt, and the two ways to settle those that no event settles.

Law: a recipient in doubt is sent to again only if the campaign's policy or a person says so, and the audit
keeps both. Each transaction takes some ranges, locks them, then their range counters, and may be repeated.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

import asyncpg

from drumbeat.engine.core.phone_digits import phones_named
from drumbeat.engine.core.retry import SILENCE_S
from drumbeat.engine.core.silence import probably_not_sent_at
from drumbeat.engine.core.states import CampaignEvent, CampaignState, ReasonCode, with_indefinite_article
from drumbeat.engine.errors import UsageError
from drumbeat.engine.store.campaign_states import apply_if_allowed
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.queries import queries

RANGES_PER_TRANSACTION = 100  # about 100,000 recipients at most: keeps locks short
# A policy sends to a recipient again at most so often; then a person decides. Each resend spends one failure.
POLICY_RESENDS_MAX = 5
_UNBOUNDED = 32_767  # the column's greatest value: a person's decision has no budget
POLICY_ACTOR = "policy"


class _SendsNothing(UsageError):
    """An error: the campaign was cancelled, or its time is over."""


@dataclass(frozen=True, slots=True)
class InDoubtGroup:
    """The recipients in doubt for one reason at one number. `since` is the time of the oldest of them.

    `all_silent_at` is from when on all of them are probably not sent, if no event comes about them. It is
    None while no events of the number arrive: then their silence says nothing.
    """

    reason: str
    phone_number_id: str
    recipients: int
    probably_not_sent: int
    since: datetime
    all_silent_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class InDoubtSummary:
    """The recipients in doubt of a campaign, the largest group first."""

    campaign_id: int
    groups: tuple[InDoubtGroup, ...]

    @property
    def recipients(self) -> int:
        return sum(group.recipients for group in self.groups)

    @property
    def probably_not_sent(self) -> int:
        return sum(group.probably_not_sent for group in self.groups)

    @property
    def since(self) -> datetime | None:
        return min((group.since for group in self.groups), default=None)

    @property
    def all_silent_at(self) -> datetime | None:
        """Return from when on everybody in doubt is probably not sent to; None if that cannot be told."""
        times = [group.all_silent_at for group in self.groups if group.all_silent_at is not None]
        return max(times) if times and len(times) == len(self.groups) else None


async def summarise_in_doubt(
    connection: Connection, campaign_id: int, *, silence_s: float = SILENCE_S
) -> InDoubtSummary:
    """Return who is in doubt, and why.

    `probably_not_sent` counts those without an event for `silence_s` while their number had others.
    """
    rows = await connection.fetch(queries("in_doubt")["summary"], campaign_id, silence_s)
    return InDoubtSummary(campaign_id, tuple(_group(row, silence_s) for row in rows))


def _group(row: asyncpg.Record, silence_s: float) -> InDoubtGroup:
    return InDoubtGroup(
        reason=row["reason"],
        phone_number_id=row["phone_number_id"],
        recipients=row["recipients"],
        probably_not_sent=row["probably_not_sent"],
        since=row["since"],
        all_silent_at=probably_not_sent_at(
            row["silence_begins"], row["last_event_at"], silence_s, row["now"]
        ),
    )


async def resend(connection: Connection, campaign_id: int, actor: str) -> int:
    """Send to all recipients in doubt again, because a person decided so. Return how many there are.

    They become deferred and due now; a finished campaign runs again. A recipient who was accepted after all
    may get the message twice. Raises UsageError if the campaign is cancelled or its time is over, LookupError
    if there is none. Repeating it changes nothing.
    """
    await _require_sending(connection, campaign_id)
    return await _defer(connection, campaign_id, actor, None, spends=0, budget=_UNBOUNDED)


async def resend_by_policy(
    connection: Connection, *, silence_s: float = SILENCE_S, campaign_id: int | None = None
) -> int:
    """Apply the policies: `resend` sends again at once, `resend-silent` if an attempt was probably not sent.

    `campaign_id` None means every campaign. Returns how many recipients. Each is sent to again
    POLICY_RESENDS_MAX times at most; then it waits for a person.
    """
    rows = await connection.fetch(
        queries("in_doubt")["campaigns_to_resend"], silence_s, POLICY_RESENDS_MAX, campaign_id
    )
    total = 0
    for row in rows:
        only_after_s = silence_s if row["only_probably_not_sent"] else None
        with suppress(_SendsNothing):  # it was cancelled meanwhile
            total += await _defer(
                connection,
                row["campaign_id"],
                POLICY_ACTOR,
                only_after_s,
                spends=1,
                budget=POLICY_RESENDS_MAX,
            )
    return total


async def assume_sent(connection: Connection, campaign_id: int, actor: str) -> int:
    """Settle all recipients in doubt as sent to, because a person decided so. Return how many there are.

    Each attempt ends as accepted, without a wamid, for the reason "assumed sent". That prevents every further
    attempt. A status that still comes finds the attempt by its tag, adds the wamid and raises the state.
    Works in every state of a campaign; repeating it changes nothing. Raises LookupError if there is no such
    campaign.
    """
    await _campaign(connection, campaign_id)
    sql = queries("in_doubt")

    async def settle(ranges: Sequence[int]) -> int:
        async with connection.transaction():
            await connection.execute(queries("facts")["lock_range_counters"], ranges)
            rows = await connection.fetch(sql["assume_sent"], ranges)
            settled: int = sum(row["recipients"] for row in rows)
            if settled:
                await _audit(connection, actor, "assume-sent", campaign_id, settled)
        return settled

    return await _in_ranges(connection, campaign_id, settle)


async def _defer(
    connection: Connection, campaign_id: int, actor: str, silence_s: float | None, *, spends: int, budget: int
) -> int:
    sql = queries("in_doubt")

    async def defer(ranges: Sequence[int]) -> int:
        async with connection.transaction():
            held = [row["range_id"] for row in await connection.fetch(sql["lock_ranges"], ranges)]
            await connection.execute(queries("facts")["lock_range_counters"], held)
            untagged = await _waiting_untagged(connection, held) if silence_s is not None else ([], [])
            rows = await connection.fetch(sql["defer_in_doubt"], held, silence_s, spends, budget, *untagged)
            deferred: int = sum(row["recipients"] for row in rows)
            if deferred:
                await connection.execute(sql["reopen_ranges"], [row["range_id"] for row in rows])
                await apply_if_allowed(
                    connection,
                    campaign_id,
                    CampaignEvent.REOPEN,
                    "recipients in doubt are sent to again",
                    ReasonCode.RESENDING,
                )
                await _require_sending(connection, campaign_id)  # its state is locked now, and stays
                await _audit(connection, actor, "resend", campaign_id, deferred)
        return deferred

    return await _in_ranges(connection, campaign_id, defer)


async def _waiting_untagged(connection: Connection, ranges: Sequence[int]) -> tuple[list[str], list[int]]:
    """Return whom untagged events that wait may concern: numbers and phones, in both aliases."""
    rows = await connection.fetch(queries("in_doubt")["waiting_untagged_events"], ranges)
    pairs = [(row["phone_number_id"], phone) for row in rows for phone in phones_named(row["recipient"])]
    return [number for number, _ in pairs], [phone for _, phone in pairs]


async def _in_ranges(
    connection: Connection, campaign_id: int, work: Callable[[Sequence[int]], Awaitable[int]]
) -> int:
    """Do the work for all ranges with recipients in doubt, some at a time."""
    total, last = 0, -1
    while True:
        rows = await connection.fetch(
            queries("in_doubt")["ranges_in_doubt"], campaign_id, last, RANGES_PER_TRANSACTION
        )
        if not rows:
            return total
        total += await work([row["range_id"] for row in rows])
        last = rows[-1]["range_id"]


async def _campaign(connection: Connection, campaign_id: int) -> asyncpg.Record:
    row = await connection.fetchrow(queries("in_doubt")["campaign"], campaign_id)
    if row is None:
        raise LookupError(f"no campaign {campaign_id}")
    return row


async def _require_sending(connection: Connection, campaign_id: int) -> None:
    row = await _campaign(connection, campaign_id)
    remedy = "--assume-sent closes what is in doubt"
    if row["state"] in (CampaignState.CANCELLED, CampaignState.EXPIRED):
        raise _SendsNothing(
            f"{with_indefinite_article(row['state'])} campaign sends nothing again", remedy=remedy
        )
    if row["overdue"]:
        raise _SendsNothing("the campaign's time is over: it sends nothing again", remedy=remedy)


async def _audit(connection: Connection, actor: str, action: str, campaign_id: int, recipients: int) -> None:
    await connection.execute(
        queries("campaigns")["audit"], actor, action, campaign_id, {"recipients": recipients}
    )
