"""Recording what became of attempts: one transaction for a batch of facts and the range counters that they
change.

Law: facts of any epoch are stored, twice the same changes nothing, and the range counters change by exactly
the difference of the recipients' states before and after. A recipient without a record was pending, so the
common batch is one round trip (`engine.store.outcome_runs`); the others are looked up before and after the
writing.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from engine.core.phone_aliases import spellings
from engine.core.states import CampaignEvent
from engine.store.campaign_states import apply_if_allowed
from engine.store.database import Connection
from engine.store.facts import ACCEPTED, STORED_KIND, Attempts, Fact, FactKind, shortened
from engine.store.outcome_runs import record_outcomes
from engine.store.queries import queries


async def record(connection: Connection, facts: Sequence[Fact], attempts: Sequence[Attempts] = ()) -> None:
    """Store a batch. Safe to repeat, in whole or in part, after a lost COMMIT.

    Facts do not depend on each other: outcomes of recipients without a record go first, in a transaction of
    their own, the others in a second one.
    """
    outcomes = {
        fact[1:3]: fact for fact in facts if fact.kind is ACCEPTED or (fact.settles and not fact.suppress)
    }
    others: list[Fact] = []
    if len(outcomes) < len(facts):
        others = [fact for fact in facts if outcomes.get(fact.key) is not fact]
        others += [outcomes.pop(key) for key in {fact.key for fact in others} if key in outcomes]
    if outcomes:
        others += await record_outcomes(connection, outcomes, attempts)
        attempts = ()
    if others or attempts:
        async with connection.transaction():
            await record_in_transaction(connection, others)
            await connection.execute(queries("facts")["count_attempts"], list(attempts))


async def record_in_transaction(connection: Connection, facts: Sequence[Fact]) -> None:
    """As `record`, as a part of the caller's transaction (a raise that also defers or skips)."""
    if not facts:
        return
    sql = queries("facts")
    await connection.execute(sql["lock_range_counters"], sorted({fact.range_id for fact in facts}))
    touched = await _touched(connection, facts)
    plain = [fact for fact in facts if fact.settles and fact.key not in touched]
    looked_up = [fact for fact in facts if not fact.settles or fact.key in touched]
    changes: Counter[tuple[int, str]] = Counter((fact.range_id, fact.kind.value) for fact in plain)
    if plain:
        await connection.execute(sql["insert_outcomes"], *_outcome_columns(plain))
    if looked_up:
        await _record_looked_up(connection, looked_up, changes)
    await change_range_counters(connection, changes)
    if silenced := [fact for fact in facts if fact.suppress]:
        await _suppress(connection, silenced)


async def _suppress(connection: Connection, silenced: Sequence[Fact]) -> None:
    """Silence for these recipients, in every spelling: another campaign may have the other one."""
    reasons = [f"asked for silence ({fact.reason})" for fact in silenced]
    rows = await connection.fetch(queries("facts")["phones"], *_keys(silenced), reasons)
    silent = [(phone, row["reason"]) for row in rows for phone in spellings(str(row["phone"]))]
    await connection.execute(
        queries("facts")["suppress"], [phone for phone, _ in silent], [reason for _, reason in silent]
    )


async def change_range_counters(connection: Connection, changes: Counter[tuple[int, str]]) -> None:
    """Apply differences, (range, state) → change; the range counters must be locked. `pending` is the
    rest.
    """
    counted = [(*key, change) for key, change in changes.items() if change and key[1] != "pending"]
    if counted:
        await connection.execute(
            queries("facts")["change_range_counters"], *map(list, zip(*counted, strict=True))
        )


async def states(connection: Connection, keys: Sequence[tuple[int, int]]) -> Counter[tuple[int, str]]:
    """How many of the recipients `(range_id, seq)` are in which state, by range."""
    rows = await connection.fetch(
        queries("facts")["states"], [key[0] for key in keys], [key[1] for key in keys]
    )
    return Counter((row["range_id"], row["state"]) for row in rows)


async def _touched(connection: Connection, facts: Sequence[Fact]) -> set[tuple[int, int]]:
    rows = await connection.fetch(queries("facts")["touched"], *_keys(facts))
    touched = {(row["range_id"], row["seq"]) for row in rows}
    counts = Counter(fact.key for fact in facts)
    return touched | {key for key, count in counts.items() if count > 1}


async def _record_looked_up(
    connection: Connection, facts: Sequence[Fact], changes: Counter[tuple[int, str]]
) -> None:
    sql = queries("facts")
    keys = sorted({fact.key for fact in facts})
    changes.subtract(await states(connection, keys))
    if settling := await _settling(connection, facts):
        await connection.execute(sql["insert_outcomes"], *_outcome_columns(settling))
        await connection.execute(sql["complete_outcomes"], *_reply_columns(settling))
        await connection.execute(sql["settle_pending_attempts"], *_tries(settling), _stored_kinds(settling))
    for waiting in _waiting_by_try(facts):
        await connection.execute(sql["write_pending_attempts"], *_open_columns(waiting))
        await connection.execute(sql["drop_reached"], *_tries(waiting))
        await connection.execute(sql["skip_deferred_of_closed"], *_keys(waiting))
    changes.update(await states(connection, keys))
    await _reopen_done(
        connection, sorted({fact.range_id for fact in facts if fact.kind is FactKind.DEFERRED})
    )


async def _settling(connection: Connection, facts: Sequence[Fact]) -> list[Fact]:
    """Those that settle their attempts, but for skips of doubts that were to be sent again: doubts once
    more.
    """
    settling = [fact for fact in facts if fact.settles]
    if skips := [fact for fact in settling if fact.kind is FactKind.SKIPPED]:
        reasons = [shortened(fact.reason) or "" for fact in skips]
        rows = await connection.fetch(queries("facts")["doubt_again"], *_tries(skips), reasons)
        doubted = {(row["range_id"], row["seq"]) for row in rows}
        settling = [fact for fact in settling if fact.kind is not FactKind.SKIPPED or fact.key not in doubted]
    return settling


def _waiting_by_try(facts: Sequence[Fact]) -> list[list[Fact]]:
    """What settles nothing, the earlier attempts first; one fact an attempt, since one statement writes a row
    once.

    "Certainly not accepted" says more than "in doubt".
    """
    unsettled = [fact for fact in facts if not fact.settles]
    unsettled.sort(key=lambda fact: (fact.attempt_no, fact.key, fact.kind is FactKind.DEFERRED))
    one_each = {(fact.attempt_no, fact.key): fact for fact in unsettled}.values()
    return [list(waiting) for _, waiting in groupby(one_each, key=lambda fact: fact.attempt_no)]


async def _reopen_done(connection: Connection, range_ids: Sequence[int]) -> None:
    """A deferral in a range that was done opens it again, and its campaign.

    A range that is done is nobody's: its row is locked after the range counters. Only a resend of its doubts,
    which locks it before them, may meet that; one of the two is then repeated.
    """
    if range_ids:
        rows = await connection.fetch(queries("facts")["reopen_done"], range_ids)
        for campaign_id in sorted({row["campaign_id"] for row in rows}):
            await apply_if_allowed(
                connection,
                campaign_id,
                CampaignEvent.REOPEN,
                "recipients in doubt were not sent to after all",
            )


def _keys(facts: Sequence[Fact]) -> tuple[list[int], list[int]]:
    return [fact.range_id for fact in facts], [fact.seq for fact in facts]


def _tries(facts: Sequence[Fact]) -> tuple[list[int], list[int], list[int]]:
    return (*_keys(facts), [fact.attempt_no for fact in facts])


def _stored_kinds(facts: Sequence[Fact]) -> list[int]:
    return [STORED_KIND[fact.kind] for fact in facts]


def _row(fact: Fact) -> tuple[Any, ...]:
    """As `insert_outcomes` wants it."""
    return (
        fact.range_id,
        fact.seq,
        fact.attempt_no,
        fact.epoch,
        STORED_KIND[fact.kind],
        fact.phone_number_id,
        fact.wamid,
        fact.code,
        shortened(fact.reason),
        fact.attempted_us,
    )


def _outcome_columns(facts: Sequence[Fact]) -> list[list[Any]]:
    return [list(column) for column in zip(*map(_row, facts), strict=True)]


def _reply_columns(facts: Sequence[Fact]) -> tuple[list[Any], ...]:
    return (
        *_tries(facts),
        _stored_kinds(facts),
        [fact.wamid for fact in facts],
        [fact.attempted_us for fact in facts],
    )


def _open_columns(facts: Sequence[Fact]) -> tuple[list[Any], ...]:
    return (
        *_tries(facts),
        [fact.kind.value for fact in facts],
        [fact.epoch for fact in facts],
        [fact.phone_number_id for fact in facts],
        [shortened(fact.reason) or "" for fact in facts],
        [fact.wait_s for fact in facts],
        [fact.spent.transient_failures for fact in facts],
        [fact.spent.pair_throttles for fact in facts],
        [fact.spent.unreachable for fact in facts],
    )
