"""Claiming recipients: a durable claim covers every request before its first byte.

First attempts are covered by the watermark of their range, later ones by a claim of their own. Every claim
names the number and the epoch that it believes in, on the row that it changes; a claim that changes no row
was refused, and nothing may be sent on it.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import asyncpg

from engine.core.retry import Budget
from engine.store.database import Connection
from engine.store.facts import Fact, FactKind
from engine.store.leases import Lease, begin_wait
from engine.store.queries import queries
from engine.store.recording import record_in_transaction

_UNSPENT = Budget()
ANSWER_LOST = "the claim's answer was lost"
# All numbers of a process wait for one statement, and what it claims is a permit of 2 s.
ADVANCE_TIMEOUT_S = 3.0


@dataclass(slots=True)
class HeldRange:
    """A range that this owner holds. `claimed_through`: recipients 1..claimed_through are claimed;
    `last_seq`: its last.
    """

    range_id: int
    campaign_id: int
    last_seq: int
    claimed_through: int
    state: str


class Candidate(NamedTuple):
    """A recipient that may be sent to. `attempt_no` counts requests so far: 0 for a first attempt."""

    campaign_id: int
    range_id: int
    seq: int
    phone: int
    variables: Sequence[str]
    opted_out: bool = False
    attempt_no: int = 0
    spent: Budget = _UNSPENT


class Raise(NamedTuple):
    """A watermark to be raised to `claimed_through`; all recipients that it covers are `candidates` to
    send to.
    """

    lease: Lease
    held: HeldRange
    claimed_through: int
    candidates: Sequence[Candidate]


class ClaimRefused(Exception):
    """The range is no longer ours, no longer open, or its watermark is not where we left it: send nothing."""


async def take_over_ranges(connection: Connection, lease: Lease) -> list[HeldRange]:
    """Stamp the ranges that a former owner of the number left, and name its doubts.

    What it had claimed and nobody recorded becomes `unknown`, counted in the same transaction.
    """
    ranges = await _stamp(connection, lease)
    await begin_wait(connection, lease)
    return ranges


async def _stamp(connection: Connection, lease: Lease) -> list[HeldRange]:
    sql = queries("claims")
    async with connection.transaction():
        held = await connection.fetch(sql["held_ranges"], lease.phone_number_id, lease.epoch)
        if not held:
            return []
        range_ids = [row["range_id"] for row in held]
        stamped = await connection.fetch(sql["stamp"], range_ids, lease.epoch, lease.phone_number_id)
        await connection.execute(sql["lock_range_counters"], range_ids)
        marked = await connection.fetch(
            sql["doubt_marked"], range_ids, [row["epoch"] for row in held], lease.phone_number_id
        )
        await connection.execute(sql["drop_reached_claims"], range_ids)
        claimed = await connection.fetch(sql["doubt_claimed"], range_ids)
        doubts = Counter(row["range_id"] for row in [*marked, *claimed])
        await connection.execute(sql["count_doubts"], list(doubts.keys()), list(doubts.values()))
        if doubts:
            await connection.execute(sql["wake_untagged"], lease.phone_number_id)
    return [HeldRange(**dict(row)) for row in stamped]


async def own_ranges(connection: Connection, lease: Lease) -> list[HeldRange]:
    """The ranges that this owner holds, also those that it took without getting the answer."""
    async with connection.transaction():
        # Waits for a taking of the lost connection that may still be under way: its COMMIT may yet arrive.
        await connection.execute(queries("claims")["lock_number"], lease.phone_number_id)
        rows = await connection.fetch(queries("claims")["own_ranges"], lease.phone_number_id, lease.epoch)
    return [HeldRange(**dict(row)) for row in rows]


async def take_range(connection: Connection, lease: Lease, campaign_id: int) -> HeldRange | None:
    """Take the next free range of a campaign; None where there is none, or the number is lost."""
    row = await connection.fetchrow(
        queries("claims")["take_range"], campaign_id, lease.phone_number_id, lease.epoch
    )
    return None if row is None else HeldRange(**dict(row))


async def page(connection: Connection, held: HeldRange) -> list[Candidate]:
    """The range's recipients above its watermark, in order."""
    rows = await connection.fetch(queries("claims")["page"], held.range_id, held.claimed_through)
    make, place = tuple.__new__, (held.campaign_id, held.range_id)  # not Candidate(…): each message has one
    return [make(Candidate, (*place, *row, False, 0, _UNSPENT)) for row in rows]


async def advance_watermarks(connection: Connection, raises: Sequence[Raise]) -> set[tuple[int, int]]:
    """Claim the first attempts of several numbers in one round trip, one range each; returns (range_id,
    epoch) of each that is claimed. The epoch, because a former owner may ask for a range beside its owner.

    For a range that is not among them nothing is claimed: a recipient asked for silence or was reached, the
    claim is refused, or the range is locked just now; `opted_out_phones`, `known_above`, `advance_watermark`
    tell which. Gives up after ADVANCE_TIMEOUT_S.
    """
    rows = await connection.fetch(
        queries("claims")["advance_watermarks"],
        [one.held.range_id for one in raises],
        [one.lease.phone_number_id for one in raises],
        [one.lease.epoch for one in raises],
        [one.held.claimed_through for one in raises],
        [one.claimed_through for one in raises],
        ["{" + repr([candidate.phone for candidate in one.candidates])[1:-1] + "}" for one in raises],
        timeout=ADVANCE_TIMEOUT_S,
    )
    return {(row["range_id"], row["epoch"]) for row in rows}


async def opted_out_phones(connection: Connection, candidates: Sequence[Candidate]) -> set[int]:
    """Those who asked for silence."""
    rows = await connection.fetch(queries("claims")["opted_out"], [one.phone for one in candidates])
    return {row["phone"] for row in rows}


async def known_above(connection: Connection, held: HeldRange, claimed_through: int) -> set[int]:
    """Recipients between the range's watermark and `claimed_through` with any record: theirs are no first
    attempts.
    """
    rows = await connection.fetch(
        queries("claims")["known_above"], held.range_id, held.claimed_through, claimed_through
    )
    return {row["seq"] for row in rows}


async def advance_watermark(
    connection: Connection, lease: Lease, held: HeldRange, claimed_through: int, decided: Sequence[Fact]
) -> None:
    """Claim the first attempts up to `claimed_through`, and store what the guard decided of them, in one
    transaction.

    `held.watermark` follows. Raises ClaimRefused; then nothing above the old watermark may be sent. When the
    COMMIT's answer is lost, `read_watermark` tells, before anything else, whether it happened.
    """
    if not decided:  # nearly always: one statement is a transaction of its own
        await _raise(connection, lease, held, claimed_through)
    else:
        async with connection.transaction():
            await _raise(connection, lease, held, claimed_through)
            await record_in_transaction(connection, decided)
    held.claimed_through = claimed_through


async def _raise(connection: Connection, lease: Lease, held: HeldRange, claimed_through: int) -> None:
    raised = await connection.fetchval(
        queries("claims")["advance_watermark"],
        held.range_id,
        lease.phone_number_id,
        lease.epoch,
        held.claimed_through,
        claimed_through,
    )
    if raised is None:
        raise ClaimRefused(f"range {held.range_id} at {held.claimed_through}")


async def read_watermark(connection: Connection, lease: Lease, held: HeldRange) -> int:
    """Where the watermark stands after a lost COMMIT. Raises ClaimRefused where the range is no longer
    ours.
    """
    claimed_through: int | None = await connection.fetchval(
        queries("claims")["read_watermark"], held.range_id, lease.phone_number_id, lease.epoch
    )
    if claimed_through is None:
        raise ClaimRefused(f"range {held.range_id} has a new owner")
    return claimed_through


async def due_retries(connection: Connection, ranges: Sequence[HeldRange], limit: int) -> list[Candidate]:
    """Deferred recipients of the held ranges that are due, the longest waiting first."""
    if not ranges:
        return []
    campaigns = {held.range_id: held.campaign_id for held in ranges}
    rows = await connection.fetch(queries("claims")["due_retries"], list(campaigns), limit)
    return [_retry(campaigns[row["range_id"]], row) for row in rows]


def _retry(campaign_id: int, row: asyncpg.Record) -> Candidate:
    spent = Budget(row["pair_throttles"], row["transient_failures"], row["unreachable"])
    return Candidate(
        campaign_id,
        row["range_id"],
        row["seq"],
        row["phone"],
        row["variables"],
        row["opted_out"],
        row["attempt_no"],
        spent,
    )


async def claim_retries(
    connection: Connection, lease: Lease, wanted: Sequence[Candidate], decided: Sequence[Fact]
) -> dict[tuple[int, int], int]:
    """Claim later attempts; returns `(range_id, seq)` → the claimed try, for those that were granted.

    `decided`: what the guard refused meanwhile. Ranges that are lost or closed grant nothing, and nobody who
    has asked for silence since `wanted` was read is granted.
    """
    sql = queries("claims")
    concerned = sorted({one.range_id for one in wanted} | {fact.range_id for fact in decided})
    async with connection.transaction():
        rows = await connection.fetch(sql["lock_open_ranges"], concerned, lease.phone_number_id, lease.epoch)
        ours = {row["range_id"] for row in rows}
        await connection.execute(sql["lock_range_counters"], sorted(ours))
        granted = await _grant(connection, lease, [one for one in wanted if one.range_id in ours])
        await record_in_transaction(connection, [fact for fact in decided if fact.range_id in ours])
    return granted


async def _grant(
    connection: Connection, lease: Lease, wanted: Sequence[Candidate]
) -> dict[tuple[int, int], int]:
    if not wanted:
        return {}
    rows = await connection.fetch(
        queries("claims")["claim_retries"],
        *_columns(wanted),
        lease.epoch,
        lease.phone_number_id,
        [one.phone for one in wanted],
    )
    counts = Counter(row["range_id"] for row in rows)
    await connection.execute(queries("claims")["count_claimed"], list(counts.keys()), list(counts.values()))
    return {(row["range_id"], row["seq"]): row["attempt_no"] for row in rows}


async def unsent_claims(connection: Connection, lease: Lease, ranges: Sequence[HeldRange]) -> list[Fact]:
    """Retries that are claimed by this owner while it has nothing under way: nobody wrote them.

    The caller has waited for its open requests and its results writer. Returned as the facts that defer them
    again.
    """
    campaigns = {held.range_id: held.campaign_id for held in ranges}
    async with connection.transaction():
        # The lock waits for a transaction of the lost connection that may still be under way.
        await connection.execute(
            queries("claims")["lock_ranges"], sorted(campaigns), lease.phone_number_id, lease.epoch
        )
        rows = await connection.fetch(
            queries("claims")["claimed_by"], list(campaigns), lease.phone_number_id, lease.epoch
        )
    return [_unsent(campaigns[row["range_id"]], lease, row) for row in rows]


def unsent_first_attempt(candidate: Candidate, lease: Lease) -> Fact:
    """The fact that defers a recipient that a late raise of the watermark covered and that was not sent
    to.
    """
    return Fact(
        candidate.campaign_id,
        candidate.range_id,
        candidate.seq,
        1,
        lease.epoch,
        lease.phone_number_id,
        FactKind.DEFERRED,
        reason=ANSWER_LOST,
    )


def _unsent(campaign_id: int, lease: Lease, row: asyncpg.Record) -> Fact:
    return Fact(
        campaign_id,
        row["range_id"],
        row["seq"],
        row["attempt_no"],
        lease.epoch,
        lease.phone_number_id,
        FactKind.DEFERRED,
        reason=ANSWER_LOST,
        spent=Budget(row["pair_throttles"], row["transient_failures"], row["unreachable"]),
    )


async def postpone_retries(connection: Connection, postponed: Sequence[tuple[Candidate, float, str]]) -> None:
    """Move the time of deferred recipients that the guard held back again: `(candidate, wait_s, reason)`."""
    candidates = [candidate for candidate, _, _ in postponed]
    await connection.execute(
        queries("claims")["postpone_retries"],
        *_columns(candidates),
        [wait_s for _, wait_s, _ in postponed],
        [reason for _, _, reason in postponed],
    )


def _columns(candidates: Sequence[Candidate]) -> tuple[list[Any], list[Any], list[Any]]:
    return (
        [one.range_id for one in candidates],
        [one.seq for one in candidates],
        [one.attempt_no for one in candidates],
    )


async def let_go_ranges(
    connection: Connection, lease: Lease, ranges: Sequence[HeldRange], soon_s: float
) -> set[int]:
    """Finish the ranges with nothing left, park those whose deferred are not due within `soon_s` seconds.

    Returns the ids that this owner no longer holds.
    """
    sql = queries("claims")
    owner = (lease.phone_number_id, lease.epoch)
    rows = await connection.fetch(sql["perhaps_done"], [held.range_id for held in ranges], *owner)
    if not rows:
        return set()
    perhaps_done = [row["range_id"] for row in rows]
    async with connection.transaction():
        rows = await connection.fetch(sql["lock_ranges"], perhaps_done, *owner)
        ours = [row["range_id"] for row in rows]
        await connection.execute(sql["lock_range_counters"], ours)
        kept = set(ours)
        for row in await connection.fetch(sql["finish_ranges"], ours):
            kept.remove(row["range_id"])
        if kept:
            for row in await connection.fetch(sql["park_ranges"], list(kept), soon_s):
                kept.remove(row["range_id"])
    return set(perhaps_done) - kept


async def release_ranges(connection: Connection, lease: Lease, ranges: Sequence[HeldRange]) -> None:
    """Give ranges back for others: only when nothing is under way in them.

    A range with a claim that nobody accounts for stays with the number, whose next owner names the doubt.
    """
    range_ids = sorted(held.range_id for held in ranges)
    async with connection.transaction():
        await connection.execute(
            queries("claims")["lock_ranges"], range_ids, lease.phone_number_id, lease.epoch
        )
        await connection.execute(
            queries("claims")["release_ranges"], range_ids, lease.phone_number_id, lease.epoch
        )
