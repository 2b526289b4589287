"""The events that were set aside, read again: after an upgrade that understands them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from drumbeat.engine.core.events.origin import Ours
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.inbox import read_our_numbers
from drumbeat.engine.store.queries import queries
from drumbeat.engine.webhooks.body_group import BodyGroup, write

AT_ONCE = 100


@dataclass(slots=True)
class Reread:
    """The counts of a reading. `left` counts those that still cannot be read, by their problem."""

    read: int = 0
    left: Counter[str] = field(default_factory=Counter)

    def as_json(self) -> dict[str, Any]:
        return {"read": self.read, "left": dict(self.left)}


async def reread(pool: Pool, product: str, accounts: frozenset[str], *, dry_run: bool = False) -> Reread:
    """Read each event that was set aside when this began. With `dry_run`, roll back what each would change.

    Each has a transaction of its own: a kill leaves it set aside or applied, and a repeat changes nothing.
    """
    sql, found = queries("inbox"), Reread()
    ours = Ours(accounts, await read_our_numbers(pool))
    begun_at, after = await pool.fetchval("SELECT now()"), ""
    while keys := await pool.fetch(sql["set_aside"], after, begun_at, AT_ONCE):
        for row in keys:
            async with pool.acquire() as connection:
                transaction = connection.transaction()
                await transaction.start()
                try:
                    await _read(connection, row["event_key"], BodyGroup(product, ours), found)
                except BaseException:
                    await transaction.rollback()
                    raise
                await (transaction.rollback() if dry_run else transaction.commit())
        after = keys[-1]["event_key"]
    return found


async def _read(connection: Connection, key: str, group: BodyGroup, found: Reread) -> None:
    sql = queries("inbox")
    row = await connection.fetchrow(sql["lock_set_aside"], key)
    if row is None:  # another process reads it
        return
    group.add(row["body"])
    if group.parsed.unreadable:
        _count(found, group.parsed.unreadable[0].problem)
        if not _has_events(group):
            return
    await connection.execute(sql["delete_set_aside"], key)
    await write(connection, group)
    problem = await connection.fetchval(sql["set_aside_again"], key, row["received_at"])
    if not group.parsed.unreadable:
        _count(found, problem)


def _count(found: Reread, problem: str | None) -> None:
    if problem is None:
        found.read += 1
    else:
        found.left[problem] += 1


def _has_events(group: BodyGroup) -> bool:
    parsed = group.parsed
    return bool(parsed.statuses or parsed.messages or parsed.account or parsed.opt_outs or parsed.opted_out)
