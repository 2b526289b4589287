"""The recording of attempts: a batch of facts, and the range counters that they change.

Law: facts of any epoch are stored, the same fact twice changes nothing, and range counters change by exactly
the difference of the recipients' states before and after. `record` is the way in, and two paths lie behind
it:

* the plain path, `record_outcome_runs`: outcomes of recipients without a record, nearly all of them. Such a
  recipient was pending, so nothing is looked up, and a batch is one round trip.
* the looked-up path, `record_looked_up`: everything else. States are read before and after.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from drumbeat.engine.core.phone_aliases import phone_aliases
from drumbeat.engine.core.states import CampaignEvent, ReasonCode
from drumbeat.engine.store.campaign_states import apply_if_allowed
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.facts import ACCEPTED, STORED_KIND, AttemptCounts, Fact, FactKind, shortened
from drumbeat.engine.store.opting_out import suppress_for_good
from drumbeat.engine.store.outcome_runs import record_outcome_runs
from drumbeat.engine.store.queries import queries


async def record(
    connection: Connection, facts: Sequence[Fact], attempts: Sequence[AttemptCounts] = ()
) -> None:
    """Store a batch. Safe to repeat, in whole or in part, after a lost COMMIT.

    Facts do not depend on each other: the plain path has a transaction of its own, the looked-up path a
    second one.
    """
    plain = {
        fact[1:3]: fact for fact in facts if fact.kind is ACCEPTED or (fact.settles and not fact.suppress)
    }
    others: list[Fact] = []
    if len(plain) < len(facts):
        others = [fact for fact in facts if plain.get(fact.key) is not fact]
        others += [plain.pop(key) for key in {fact.key for fact in others} if key in plain]
    if plain:
        others += await record_outcome_runs(connection, plain, attempts)
        attempts = ()
    if others or attempts:
        async with connection.transaction():
            await record_looked_up(connection, others)
            await connection.execute(queries("facts")["count_attempts"], list(attempts))


async def record_looked_up(connection: Connection, facts: Sequence[Fact]) -> None:
    """Store facts of any kind as a part of the caller's transaction.

    Callers other than `record` store the guard's decisions in the transaction of their claim.
    """
    if not facts:
        return
    sql = queries("facts")
    await connection.execute(sql["lock_range_counters"], sorted({fact.range_id for fact in facts}))
    recorded = await _recorded(connection, facts)
    new = [fact for fact in facts if fact.settles and fact.key not in recorded]
    others = [fact for fact in facts if not fact.settles or fact.key in recorded]
    changes: Counter[tuple[int, str]] = Counter((fact.range_id, fact.kind.value) for fact in new)
    if new:
        await connection.execute(sql["insert_outcomes"], *_outcome_columns(new))
    if others:
        await _record_by_difference(connection, others, changes)
    await change_range_counters(connection, changes)
    if opted_out := [fact for fact in facts if fact.suppress]:
        await _suppress(connection, opted_out)


async def _suppress(connection: Connection, opted_out: Sequence[Fact]) -> None:
    """Add these recipients to the suppression list, with both aliases: campaigns may differ in them."""
    reasons = [f"opted out ({fact.reason})" for fact in opted_out]
    rows = await connection.fetch(queries("facts")["phones"], *_keys(opted_out), reasons)
    listed = [(phone, row["reason"]) for row in rows for phone in phone_aliases(str(row["phone"]))]
    await suppress_for_good(connection, listed)


async def change_range_counters(connection: Connection, changes: Counter[tuple[int, str]]) -> None:
    """Apply differences, (range, state) → change. The caller has locked the range counters.

    Changes of `pending` are left out: the database derives it.
    """
    counted = [(*key, change) for key, change in changes.items() if change and key[1] != "pending"]
    if counted:
        await connection.execute(
            queries("facts")["change_range_counters"], *map(list, zip(*counted, strict=True))
        )


async def states(connection: Connection, keys: Sequence[tuple[int, int]]) -> Counter[tuple[int, str]]:
    """Return how many of the recipients (range_id, seq) are in which state, by range."""
    rows = await connection.fetch(
        queries("facts")["states"], [key[0] for key in keys], [key[1] for key in keys]
    )
    return Counter((row["range_id"], row["state"]) for row in rows)


async def _recorded(connection: Connection, facts: Sequence[Fact]) -> set[tuple[int, int]]:
    """Return the recipients with a record, and those with more than one fact in the batch."""
    rows = await connection.fetch(queries("facts")["recorded"], *_keys(facts))
    recorded = {(row["range_id"], row["seq"]) for row in rows}
    counts = Counter(fact.key for fact in facts)
    return recorded | {key for key, count in counts.items() if count > 1}


async def _record_by_difference(
    connection: Connection, facts: Sequence[Fact], changes: Counter[tuple[int, str]]
) -> None:
    sql = queries("facts")
    keys = sorted({fact.key for fact in facts})
    changes.subtract(await states(connection, keys))
    if settling := await _settling(connection, facts):
        await connection.execute(sql["insert_outcomes"], *_outcome_columns(settling))
        await connection.execute(sql["complete_outcomes"], *_reply_columns(settling))
        await connection.execute(
            sql["settle_pending_attempts"], *_attempt_keys(settling), _stored_kinds(settling)
        )
    for unsettled in _unsettled_by_attempt(facts):
        await connection.execute(sql["write_pending_attempts"], *_pending_columns(unsettled))
        await connection.execute(sql["remove_retries_of_reached"], *_attempt_keys(unsettled))
        await connection.execute(sql["skip_deferred_of_closed"], *_keys(unsettled))
    changes.update(await states(connection, keys))
    await _reopen_done(
        connection, sorted({fact.range_id for fact in facts if fact.kind is FactKind.DEFERRED})
    )


async def _settling(connection: Connection, facts: Sequence[Fact]) -> list[Fact]:
    """Return facts that settle their attempts. A skipped resend does not: its recipient is in doubt again."""
    settling = [fact for fact in facts if fact.settles]
    if skips := [fact for fact in settling if fact.kind is FactKind.SKIPPED]:
        reasons = [shortened(fact.reason) or "" for fact in skips]
        rows = await connection.fetch(
            queries("facts")["put_skipped_resends_in_doubt"], *_attempt_keys(skips), reasons
        )
        in_doubt = {(row["range_id"], row["seq"]) for row in rows}
        settling = [
            fact for fact in settling if fact.kind is not FactKind.SKIPPED or fact.key not in in_doubt
        ]
    return settling


def _unsettled_by_attempt(facts: Sequence[Fact]) -> list[list[Fact]]:
    """Return the facts that settle nothing, earlier attempts first, one for each attempt: a statement writes
    a row once.

    "Certainly not accepted" says more than "in doubt", and wins.
    """
    unsettled = [fact for fact in facts if not fact.settles]
    unsettled.sort(key=lambda fact: (fact.attempt_no, fact.key, fact.kind is FactKind.DEFERRED))
    one_each = {(fact.attempt_no, fact.key): fact for fact in unsettled}.values()
    return [list(group) for _, group in groupby(one_each, key=lambda fact: fact.attempt_no)]


async def _reopen_done(connection: Connection, range_ids: Sequence[int]) -> None:
    """Open a range that was done, and its campaign, again after a deferral in it.

    Nobody holds a range that is done: its row is locked after the range counters. Only a resend, which locks
    it before them, can deadlock with that; one of the two is then repeated.
    """
    if range_ids:
        rows = await connection.fetch(queries("facts")["reopen_done"], range_ids)
        for campaign_id in sorted({row["campaign_id"] for row in rows}):
            await apply_if_allowed(
                connection,
                campaign_id,
                CampaignEvent.REOPEN,
                "recipients in doubt were not accepted after all",
                ReasonCode.REOPENED,
            )


def _keys(facts: Sequence[Fact]) -> tuple[list[int], list[int]]:
    return [fact.range_id for fact in facts], [fact.seq for fact in facts]


def _attempt_keys(facts: Sequence[Fact]) -> tuple[list[int], list[int], list[int]]:
    return (*_keys(facts), [fact.attempt_no for fact in facts])


def _stored_kinds(facts: Sequence[Fact]) -> list[int]:
    return [STORED_KIND[fact.kind] for fact in facts]


def _outcome_columns(facts: Sequence[Fact]) -> tuple[list[Any], ...]:
    """Return the columns as `insert_outcomes` takes them."""
    return (
        *_attempt_keys(facts),
        [fact.epoch for fact in facts],
        _stored_kinds(facts),
        [fact.phone_number_id for fact in facts],
        [fact.wamid for fact in facts],
        [fact.code for fact in facts],
        [shortened(fact.reason) for fact in facts],
        [fact.attempted_us for fact in facts],
    )


def _reply_columns(facts: Sequence[Fact]) -> tuple[list[Any], ...]:
    return (
        *_attempt_keys(facts),
        _stored_kinds(facts),
        [fact.wamid for fact in facts],
        [fact.attempted_us for fact in facts],
    )


def _pending_columns(facts: Sequence[Fact]) -> tuple[list[Any], ...]:
    return (
        *_attempt_keys(facts),
        [fact.kind.value for fact in facts],
        [fact.epoch for fact in facts],
        [fact.phone_number_id for fact in facts],
        [shortened(fact.reason) or "" for fact in facts],
        [fact.wait_s for fact in facts],
        [fact.spent.transient_failures for fact in facts],
        [fact.spent.pair_throttles for fact in facts],
        [fact.spent.unreachable for fact in facts],
    )
