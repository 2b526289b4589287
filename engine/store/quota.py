"""The count of the people to whom numbers with a messaging limit write. All times are the database's.

Law: the count of a person is committed before the claim. A process that changes the people of a scope holds
the lock of the scope's row, so several processes that share a limit never exceed it together.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from drumbeat.engine.core.limits.quota import (
    COUNTED_S,
    GATHER_S,
    MARGIN_S,
    WINDOW_S,
    Person,
    QuotaScope,
    QuotaStanding,
    limits,
)
from drumbeat.engine.core.limits.tier import SaidTier
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.queries import queries

ACCOUNT_SCOPE = "account"  # not a phone number ID, because those are digits


class CountedPerson(NamedTuple):
    """A phone, and the attempt for which it is counted."""

    phone: int
    range_id: int
    seq: int
    attempt_no: int


@dataclass(frozen=True, slots=True)
class Quota:
    """A messaging limit of `phone_number_ids`, counted as `scope`."""

    scope: str
    limit: int
    phone_number_ids: tuple[str, ...]


Decide = Callable[[int, Sequence[Person]], list[bool]]
"""The function `admitted` or `admitted_in_order` of `engine.core.limits.quota`."""


@dataclass(frozen=True, slots=True)
class Admission:
    """The answer for people who were asked for, in their order. `may`: the number may write to the person.

    `new`: it may, and the person was not counted before. `left` is how many more new people it may write to.
    """

    may: list[bool]
    new: list[bool]
    left: int


async def read_quotas(connection: Connection | Pool, scope: QuotaScope) -> dict[str, Quota]:
    """Return the messaging limit of each number that has one. Numbers that share a limit share the value."""
    rows = await connection.fetch(queries("quota")["tiers"])
    said = {row["phone_number_id"]: SaidTier(row["messaging_limit_tier"], row["known_tier"]) for row in rows}
    found = limits(said, scope)
    if scope is QuotaScope.ACCOUNT:
        numbers = tuple(found)
        return {number: Quota(ACCOUNT_SCOPE, limit, numbers) for number, limit in found.items()}
    return {number: Quota(number, limit, (number,)) for number, limit in found.items()}


async def read_standings(
    connection: Connection | Pool, quotas: Collection[Quota]
) -> dict[str, QuotaStanding]:
    """Return how much of each limit is used, by scope. One person more counts as free only after GATHER_S."""
    by_scope = {quota.scope: quota.limit for quota in quotas}
    standings = {scope: QuotaStanding(limit, 0) for scope, limit in by_scope.items()}
    rows = await connection.fetch(
        queries("quota")["standings"], list(by_scope.keys()), list(by_scope.values()), COUNTED_S + GATHER_S
    )
    for row in rows:
        standings[row["scope"]] = QuotaStanding(row["quota_limit"], row["used"], row["more_at"])
    return standings


async def read_number_standings(connection: Connection | Pool) -> dict[str, QuotaStanding]:
    """Return how much of its limit each number with a limit has used, as the senders count it."""
    shared = await connection.fetchval(queries("quota")["counts_account"], ACCOUNT_SCOPE)
    quotas = await read_quotas(connection, QuotaScope.ACCOUNT if shared else QuotaScope.NUMBER)
    if not quotas:
        return {}
    standings = await read_standings(connection, quotas.values())
    return {number: standings[quota.scope] for number, quota in quotas.items()}


async def admit(
    connection: Connection,
    quota: Quota,
    phone_number_id: str,
    people: Sequence[CountedPerson],
    unsent: Sequence[CountedPerson],
    decide: Decide,
) -> Admission:
    """Count those of `people` to whom the number may write now. First, take `unsent` from the count."""
    async with connection.transaction():
        used = await _give_back(connection, quota, unsent)
        row = await connection.fetchrow(
            queries("quota")["look"],
            quota.scope,
            [person.phone for person in people],
            phone_number_id,
            COUNTED_S,
            WINDOW_S - MARGIN_S,
        )
        assert row is not None, "it has one row, whatever it finds"
        used -= row["expired"]
        kinds = [Person(kind) for kind in row["people"]]
        may = decide(quota.limit - used, kinds)
        counted = [
            (person, kind)
            for person, kind, allowed in zip(people, kinds, may, strict=True)
            if allowed and kind is not Person.IN_CONVERSATION
        ]
        used += len({person.phone for person, kind in counted if kind is Person.NEW})
        await _count(connection, quota, [person for person, _ in counted])
        await _set_used(connection, quota, used)
    new = [allowed and kind is Person.NEW for kind, allowed in zip(kinds, may, strict=True)]
    return Admission(may, new, max(0, quota.limit - used))


async def give_back(connection: Connection, quota: Quota, unsent: Sequence[CountedPerson]) -> None:
    """Take people from the count whose requests were certainly not accepted."""
    async with connection.transaction():
        await _set_used(connection, quota, await _give_back(connection, quota, unsent))


async def forget_others(connection: Connection, quotas: Mapping[str, Quota]) -> None:
    """Remove the counts of scopes that no longer have a limit."""
    sql = queries("quota")
    async with connection.transaction():
        scopes = sorted({quota.scope for quota in quotas.values()})
        gone = [row["scope"] for row in await connection.fetch(sql["forget_scopes"], scopes)]
        if gone:
            await connection.execute(sql["forget_people"], gone)


async def _give_back(connection: Connection, quota: Quota, unsent: Sequence[CountedPerson]) -> int:
    """Lock the scope and remove `unsent` from the count. Return how many are left in it."""
    used = await _lock(connection, quota)
    if not unsent:
        return used
    returned: int = await connection.fetchval(queries("quota")["give_back"], quota.scope, *_columns(unsent))
    return used - returned


async def _lock(connection: Connection, quota: Quota) -> int:
    """Lock the scope, and return how many people are counted. The first lock counts earlier messages."""
    sql = queries("quota")
    used: int | None = await connection.fetchval(sql["lock"], quota.scope)
    if used is not None:
        return used
    await connection.execute(sql["begin_scope"], quota.scope)
    used = await connection.fetchval(sql["lock"], quota.scope)
    if used:
        return used  # another process was faster
    counted = await connection.execute(
        sql["count_earlier"], quota.scope, list(quota.phone_number_ids), COUNTED_S, WINDOW_S
    )
    return int(counted.split()[-1])


async def _count(connection: Connection, quota: Quota, people: Sequence[CountedPerson]) -> None:
    """Count the people, each for the latest message: several campaigns may write to one person at once."""
    latest = list({person.phone: person for person in people}.values())
    if latest:
        await connection.execute(queries("quota")["count_people"], quota.scope, *_columns(latest))


async def _set_used(connection: Connection, quota: Quota, used: int) -> None:
    await connection.execute(queries("quota")["set_used"], quota.scope, used)


def _columns(people: Sequence[CountedPerson]) -> list[list[int]]:
    return [list(column) for column in zip(*people, strict=True)]
