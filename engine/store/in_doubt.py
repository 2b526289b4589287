"""Recipients in doubt: what they are, and the two ways to end a doubt that no event ends.

Law: a doubt is sent again only by its campaign's policy or a person's word, and both leave a trace in the
audit. Each transaction takes some ranges, locks them, then their range counters, and may be repeated.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

import asyncpg

from engine.core.in_doubt import SILENCE_S
from engine.core.phone_aliases import phone_aliases
from engine.core.states import CampaignEvent, CampaignState, with_indefinite_article
from engine.errors import UsageError
from engine.store.campaign_states import apply_if_allowed
from engine.store.database import Connection
from engine.store.queries import queries

RANGES_PER_TRANSACTION = 100  # about 100,000 recipients at most; keeps locks short
# A policy resends a recipient this often; then a person decides. Each one spends the budget of failures.
POLICY_RESENDS_MAX = 5
_UNBOUNDED = 32_767  # a person's word has no budget; the column's greatest value
POLICY_ACTOR = "policy"


class _SendsNothing(UsageError):
    """A campaign that was cancelled or is over."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """Recipients in doubt for one reason at one number. `since`: the oldest of them."""

    reason: str
    phone_number_id: str
    recipients: int
    probably_not_sent: int
    since: datetime


@dataclass(frozen=True, slots=True)
class Doubts:
    """All doubts of a campaign, the most frequent first."""

    campaign_id: int
    doubts: tuple[Doubt, ...]

    @property
    def recipients(self) -> int:
        return sum(doubt.recipients for doubt in self.doubts)

    @property
    def probably_not_sent(self) -> int:
        return sum(doubt.probably_not_sent for doubt in self.doubts)

    @property
    def since(self) -> datetime | None:
        return min((doubt.since for doubt in self.doubts), default=None)


async def doubts(connection: Connection, campaign_id: int, *, quiet_s: float = SILENCE_S) -> Doubts:
    """What is in doubt and why. `probably_not_sent`: no event for `quiet_s`, while its number's came."""
    rows = await connection.fetch(queries("in_doubt")["doubts"], campaign_id, quiet_s)
    return Doubts(campaign_id, tuple(Doubt(**dict(row)) for row in rows))


async def resend(connection: Connection, campaign_id: int, actor: str) -> int:
    """A person's word that all doubts of a campaign are to be sent again; returns how many recipients.

    They become deferred and due now; a finished campaign runs again. Who was accepted after all may get the
    message twice. Raises UsageError for a campaign that is cancelled or whose time is over, LookupError for
    none. Repeating it changes nothing.
    """
    await _require_sending(connection, campaign_id)
    return await _defer(connection, campaign_id, actor, None, spends=0, budget=_UNBOUNDED)


async def resend_by_policy(connection: Connection, *, quiet_s: float = SILENCE_S) -> int:
    """What the policies send again: `resend` at once, `resend-silent` when probably not sent.

    Returns how many recipients. Each may come back POLICY_RESENDS_MAX times; then it waits for a person.
    """
    rows = await connection.fetch(queries("in_doubt")["campaigns_to_resend"], quiet_s, POLICY_RESENDS_MAX)
    total = 0
    for row in rows:
        wait_s = quiet_s if row["silent"] else None
        with suppress(_SendsNothing):  # it was cancelled meanwhile
            total += await _defer(
                connection, row["campaign_id"], POLICY_ACTOR, wait_s, spends=1, budget=POLICY_RESENDS_MAX
            )
    return total


async def assume_sent(connection: Connection, campaign_id: int, actor: str) -> int:
    """A person's word that all doubts of a campaign were sent; returns how many recipients.

    Each ends as `accepted`: an outcome of kind accepted without a wamid, reason "assumed sent". It is what
    the person claims, it keeps the recipient from every further attempt, and a status that comes after all
    finds the attempt by its tag, brings the wamid and raises the state. Works in every state of a campaign;
    repeating it changes nothing. LookupError for no such campaign.
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
    connection: Connection, campaign_id: int, actor: str, quiet_s: float | None, *, spends: int, budget: int
) -> int:
    sql = queries("in_doubt")

    async def defer(ranges: Sequence[int]) -> int:
        async with connection.transaction():
            held = [row["range_id"] for row in await connection.fetch(sql["lock_ranges"], ranges)]
            await connection.execute(queries("facts")["lock_range_counters"], held)
            waiting = await _waiting_untagged(connection, held) if quiet_s is not None else ([], [])
            rows = await connection.fetch(sql["defer_doubts"], held, quiet_s, spends, budget, *waiting)
            deferred: int = sum(row["recipients"] for row in rows)
            if deferred:
                await connection.execute(sql["reopen_ranges"], [row["range_id"] for row in rows])
                await apply_if_allowed(connection, campaign_id, CampaignEvent.REOPEN, "doubts are sent again")
                await _require_sending(connection, campaign_id)  # its state is locked now: it stays so
                await _audit(connection, actor, "resend", campaign_id, deferred)
        return deferred

    return await _in_ranges(connection, campaign_id, defer)


async def _waiting_untagged(connection: Connection, ranges: Sequence[int]) -> tuple[list[str], list[int]]:
    """Whom waiting events without a tag may be about: number and phone, in every spelling."""
    rows = await connection.fetch(queries("in_doubt")["waiting_untagged"], ranges)
    pairs = [(row["phone_number_id"], phone) for row in rows for phone in phone_aliases(row["recipient"])]
    return [number for number, _ in pairs], [phone for _, phone in pairs]


async def _in_ranges(
    connection: Connection, campaign_id: int, work: Callable[[Sequence[int]], Awaitable[int]]
) -> int:
    """Walk the ranges that hold doubts, some at a time."""
    total, last = 0, -1
    while True:
        rows = await connection.fetch(
            queries("in_doubt")["doubtful_ranges"], campaign_id, last, RANGES_PER_TRANSACTION
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
        queries("in_doubt")["audit"], actor, action, campaign_id, {"recipients": recipients}
    )
