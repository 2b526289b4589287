"""Forgetting old campaigns: whole months of recipients and outcomes leave by dropping partitions.

Law: a month goes only when every campaign in it ended before the limit. A campaign's own row stays, so that
its name still says "already sent", and its counts move to the audit.
"""

from __future__ import annotations

import getpass
from dataclasses import dataclass

import asyncpg

from engine.errors import TryLater
from engine.store.database import Connection, Pool
from engine.store.queries import queries


@dataclass(frozen=True, slots=True)
class PrunedMonth:
    """A calendar month ("2026-03") of planning, and the campaigns planned in it."""

    month: str
    campaigns: tuple[str, ...]


async def prune(pool: Pool, *, older_than_days: int, dry_run: bool) -> list[PrunedMonth]:
    """Drop the months whose campaigns all ended more than `older_than_days` days ago; returns them.

    `dry_run` returns the same and drops nothing. TryLater when somebody works in one of the tables.
    """
    async with pool.acquire() as connection:
        months = await connection.fetch(queries("prune")["months"], older_than_days)
        found = [await _prune_month(connection, month, older_than_days, dry_run) for month in months]
        if not dry_run:
            await connection.execute(queries("prune")["forget_sinks"], older_than_days)
    return [pruned for pruned in found if pruned is not None]


async def _prune_month(
    connection: Connection, month: asyncpg.Record, older_than_days: int, dry_run: bool
) -> PrunedMonth | None:
    sql = queries("prune")
    bounds = month["first_id"], month["end_id"]
    try:
        async with connection.transaction():
            await connection.execute(sql["limit_wait"])
            campaigns = await connection.fetch(sql["lock_campaigns"], *bounds, older_than_days)
            if not all(campaign["over"] for campaign in campaigns):
                return None
            if not dry_run:
                await connection.execute(sql["keep_counts"], *bounds, getpass.getuser(), month["month"])
                for row in await connection.fetch(sql["drop_statements"], month["suffix"]):
                    await connection.execute(row["statement"])
    except asyncpg.LockNotAvailableError as error:
        raise TryLater(f"the recipients of {month['month']} are in use", remedy="prune later") from error
    return PrunedMonth(month["month"], tuple(campaign["name"] for campaign in campaigns))
