"""The claims of retries: each later attempt has a durable claim of its own, in pending_attempts."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import asyncpg

from drumbeat.engine.core.retry import Budget
from drumbeat.engine.store.claims import ANSWER_LOST, Candidate
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.facts import Fact, FactKind
from drumbeat.engine.store.leases import Lease
from drumbeat.engine.store.queries import queries
from drumbeat.engine.store.ranges import HeldRange
from drumbeat.engine.store.recording import record_looked_up


class Postponed(NamedTuple):
    """A recipient that already waits for another attempt, and has to wait for `wait_s` more."""

    candidate: Candidate
    wait_s: float
    reason: str


async def due_retries(connection: Connection, ranges: Sequence[HeldRange], limit: int) -> list[Candidate]:
    """Return deferred recipients of the held ranges that are due, the longest waiting first."""
    if not ranges:
        return []
    campaigns = {held.range_id: held.campaign_id for held in ranges}
    rows = await connection.fetch(queries("retry_claims")["due_retries"], list(campaigns), limit)
    return [_candidate(campaigns[row["range_id"]], row) for row in rows]


def _candidate(campaign_id: int, row: asyncpg.Record) -> Candidate:
    recipient = (row["range_id"], row["seq"], row["phone"], row["variables"], row["template_index"])
    return Candidate(campaign_id, *recipient, row["opted_out"], row["attempt_no"], _spent(row))


def _spent(row: asyncpg.Record) -> Budget:
    return Budget(row["pair_throttles"], row["transient_failures"], row["unreachable"])


async def claim_retries(
    connection: Connection, lease: Lease, wanted: Sequence[Candidate], decided: Sequence[Fact]
) -> dict[tuple[int, int], int]:
    """Claim later attempts. Return (range_id, seq) → the claimed attempt number, for each that was granted.

    `decided` has the guard's refusals meanwhile. Ranges that are lost or closed grant nothing. A recipient
    who opted out since `wanted` was read is not granted.
    """
    sql = queries("retry_claims")
    range_ids = sorted({candidate.range_id for candidate in wanted} | {fact.range_id for fact in decided})
    async with connection.transaction():
        rows = await connection.fetch(sql["lock_open_ranges"], range_ids, lease.phone_number_id, lease.epoch)
        ours = {row["range_id"] for row in rows}
        await connection.execute(queries("facts")["lock_range_counters"], sorted(ours))
        granted = await _grant(
            connection, lease, [candidate for candidate in wanted if candidate.range_id in ours]
        )
        await record_looked_up(connection, [fact for fact in decided if fact.range_id in ours])
    return granted


async def _grant(
    connection: Connection, lease: Lease, wanted: Sequence[Candidate]
) -> dict[tuple[int, int], int]:
    if not wanted:
        return {}
    sql = queries("retry_claims")
    phones = [candidate.phone for candidate in wanted]
    rows = await connection.fetch(
        sql["claim_retries"], *_columns(wanted), lease.epoch, lease.phone_number_id, phones
    )
    counts = Counter(row["range_id"] for row in rows)
    await connection.execute(sql["count_claimed"], list(counts.keys()), list(counts.values()))
    return {(row["range_id"], row["seq"]): row["attempt_no"] for row in rows}


async def unsent_claims(connection: Connection, lease: Lease, ranges: Sequence[HeldRange]) -> list[Fact]:
    """Return the facts that defer retries which this owner claimed and did not send, because the answer was
    lost.

    The caller has waited for its requests in flight and for its results writer.
    """
    campaigns = {held.range_id: held.campaign_id for held in ranges}
    owner = (lease.phone_number_id, lease.epoch)
    async with connection.transaction():
        # This waits for a transaction of the lost connection that may still be under way.
        await connection.execute(queries("ranges")["lock_ranges"], sorted(campaigns), *owner)
        rows = await connection.fetch(queries("retry_claims")["claimed_by_owner"], list(campaigns), *owner)
    return [_unsent(campaigns[row["range_id"]], lease, row) for row in rows]


def _unsent(campaign_id: int, lease: Lease, row: asyncpg.Record) -> Fact:
    attempt = (
        campaign_id,
        row["range_id"],
        row["seq"],
        row["attempt_no"],
        lease.epoch,
        lease.phone_number_id,
    )
    return Fact(*attempt, FactKind.DEFERRED, reason=ANSWER_LOST, spent=_spent(row))


async def postpone_retries(connection: Connection, postponed: Sequence[Postponed]) -> None:
    """Move the time of deferred recipients that the guard held back again."""
    await connection.execute(
        queries("retry_claims")["postpone_retries"],
        *_columns([row.candidate for row in postponed]),
        [row.wait_s for row in postponed],
        [row.reason for row in postponed],
    )


def _columns(candidates: Sequence[Candidate]) -> tuple[list[Any], list[Any], list[Any]]:
    return (
        [candidate.range_id for candidate in candidates],
        [candidate.seq for candidate in candidates],
        [candidate.attempt_no for candidate in candidates],
    )
