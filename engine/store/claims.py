"""The claims of first attempts: the watermark of a range is raised, and committed, before the first byte is
sent.

Every claim names the number and the epoch that it believes in, and compares them with the row that it
changes. A claim that changes no row is refused: nothing may be sent on it. Retries are in
`engine.store.retry_claims`.
"""

from collections.abc import Sequence
from typing import NamedTuple

from drumbeat.engine.core.limits.frequency_cap import FrequencyCap
from drumbeat.engine.core.retry import Budget
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.facts import Fact, FactKind
from drumbeat.engine.store.leases import Lease
from drumbeat.engine.store.queries import queries
from drumbeat.engine.store.ranges import HeldRange
from drumbeat.engine.store.recording import record_looked_up

_UNSPENT = Budget()
ANSWER_LOST = "the claim's answer was lost"
# All numbers of a process wait for one statement, and the claims that it makes are valid for 2 s.
ADVANCE_TIMEOUT_S = 3.0


class Candidate(NamedTuple):
    """A recipient that may be sent to. `template_index` is the index of the template that it gets.

    `attempt_no` counts requests so far: 0 for a first attempt.
    """

    campaign_id: int
    range_id: int
    seq: int
    phone: int
    variables: Sequence[str]
    template_index: int = 0
    opted_out: bool = False
    attempt_no: int = 0
    spent: Budget = _UNSPENT


class WatermarkAdvance(NamedTuple):
    """A watermark that is to rise to `claimed_through`. It covers no recipients but the `candidates`.

    `cap` is the frequency cap of the campaign.
    """

    lease: Lease
    held: HeldRange
    claimed_through: int
    candidates: Sequence[Candidate]
    cap: FrequencyCap | None = None


class ClaimRefused(Exception):
    """A refused claim: the range has a new owner, is closed, or its watermark moved. Nothing may be sent."""


async def page(connection: Connection, held: HeldRange) -> list[Candidate]:
    """Return the range's recipients above its watermark, in order."""
    rows = await connection.fetch(queries("claims")["page"], held.range_id, held.claimed_through)
    make, of_range = tuple.__new__, (held.campaign_id, held.range_id)  # not Candidate(…): saves a call each
    return [make(Candidate, (*of_range, *row, False, 0, _UNSPENT)) for row in rows]


async def advance_watermarks(
    connection: Connection, advances: Sequence[WatermarkAdvance]
) -> set[tuple[int, int]]:
    """Claim first attempts of several numbers in one round trip, one range each.

    Returns (range_id, epoch) of each claim. The epoch is part of it because a former owner may ask for the
    same range. Nothing is claimed of the other ranges: a recipient opted out or has a record, the claim is
    refused, or the range is locked now. `opted_out_phones`, `recorded_above` and `advance_watermark` tell
    which. Gives up after ADVANCE_TIMEOUT_S.
    """
    rows = await connection.fetch(
        queries("claims")["advance_watermarks"],
        [advance.held.range_id for advance in advances],
        [advance.lease.phone_number_id for advance in advances],
        [advance.lease.epoch for advance in advances],
        [advance.held.claimed_through for advance in advances],
        [advance.claimed_through for advance in advances],
        [
            "{" + repr([candidate.phone for candidate in advance.candidates])[1:-1] + "}"
            for advance in advances
        ],
        timeout=ADVANCE_TIMEOUT_S,
    )
    return {(row["range_id"], row["epoch"]) for row in rows}


async def opted_out_phones(connection: Connection, candidates: Sequence[Candidate]) -> set[int]:
    """Return the phones of the candidates that are on the suppression list now."""
    phones = [candidate.phone for candidate in candidates]
    rows = await connection.fetch(queries("claims")["opted_out"], phones)
    return {row["phone"] for row in rows}


async def recorded_above(connection: Connection, held: HeldRange, claimed_through: int) -> set[int]:
    """Return recipients from the watermark to `claimed_through` with a record: they get no first attempt."""
    rows = await connection.fetch(
        queries("claims")["recorded_above"], held.range_id, held.claimed_through, claimed_through
    )
    return {row["seq"] for row in rows}


async def advance_watermark(
    connection: Connection, lease: Lease, held: HeldRange, claimed_through: int, decided: Sequence[Fact]
) -> None:
    """Claim first attempts up to `claimed_through`, and store what the guard `decided`, in one transaction.

    `held.claimed_through` follows. Raises ClaimRefused: then nothing above the old watermark may be sent. If
    the answer to the COMMIT is lost, ask `read_watermark` before anything else.
    """
    if not decided:  # nearly always: one statement is a transaction of its own
        await _advance(connection, lease, held, claimed_through)
    else:
        async with connection.transaction():
            await _advance(connection, lease, held, claimed_through)
            await record_looked_up(connection, decided)
    held.claimed_through = claimed_through


async def _advance(connection: Connection, lease: Lease, held: HeldRange, claimed_through: int) -> None:
    advanced = await connection.fetchval(
        queries("claims")["advance_watermark"],
        held.range_id,
        lease.phone_number_id,
        lease.epoch,
        held.claimed_through,
        claimed_through,
    )
    if advanced is None:
        raise ClaimRefused(f"range {held.range_id} at {held.claimed_through}")


async def read_watermark(connection: Connection, lease: Lease, held: HeldRange) -> int:
    """Return the stored watermark, after a lost answer. Raises ClaimRefused if the range has a new owner."""
    claimed_through: int | None = await connection.fetchval(
        queries("claims")["read_watermark"], held.range_id, lease.phone_number_id, lease.epoch
    )
    if claimed_through is None:
        raise ClaimRefused(f"range {held.range_id} has a new owner")
    return claimed_through


def unsent_first_attempt(candidate: Candidate, lease: Lease) -> Fact:
    """Return the fact that defers a recipient whom a late answer claimed, and who was not sent to."""
    return fact_of_unsent(candidate._replace(attempt_no=1), lease, FactKind.DEFERRED, ANSWER_LOST)


def fact_of_unsent(
    candidate: Candidate, lease: Lease, kind: FactKind, reason: str, wait_s: float = 0.0
) -> Fact:
    """Return the fact about a candidate that this owner did not send to."""
    attempt = (*candidate[:3], candidate.attempt_no, lease.epoch, lease.phone_number_id)
    return Fact(*attempt, kind, reason=reason, wait_s=wait_s, spent=candidate.spent)
