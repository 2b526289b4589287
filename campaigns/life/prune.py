"""Forgetting old campaigns: whole months of recipients and outcomes leave by dropping partitions.

Law: a month goes only when every campaign in it ended before the limit. A campaign's own row stays, so that
its name still says "already sent", and its counts move to the audit.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime

import asyncpg

from campaigns.life.actor import actor
from engine.core.states import CampaignState
from engine.errors import TryLater
from engine.store.database import Connection, Pool
from engine.store.queries import queries

# A drop locks everybody out of the tables, and senders lock them in another order. So a prune gives way, long
# before Postgres calls it a deadlock (1 s) and ends one of the two, perhaps the sender.
ATTEMPTS_MAX = 50
PAUSE_S = 0.2


@dataclass(frozen=True, slots=True)
class PrunedMonth:
    """A calendar month ("2026-03") of planning, and the campaigns planned in it."""

    month: str
    campaigns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Keeper:
    """A campaign for whose sake a month stays. `planned_at` None: its create was killed, or still goes on."""

    name: str
    state: CampaignState
    planned_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class KeptMonth:
    """A month that is old enough, and those of its campaigns that did not end long ago."""

    month: str
    campaigns: tuple[Keeper, ...]


@dataclass(frozen=True, slots=True)
class Pruning:
    """What went, or would go, and what did not."""

    pruned: tuple[PrunedMonth, ...]
    kept: tuple[KeptMonth, ...]


async def prune(pool: Pool, *, older_than_days: int, dry_run: bool) -> Pruning:
    """Drop the months whose campaigns all ended more than `older_than_days` days ago.

    `dry_run` returns the same and drops nothing. TryLater when the tables are never free for a moment.
    """
    async with pool.acquire() as connection:
        months = await connection.fetch(queries("prune")["months"], older_than_days)
        found = [await _prune_month(connection, month, older_than_days, dry_run) for month in months]
        if not dry_run:
            await connection.execute(queries("prune")["delete_results_writers"], older_than_days)
    return Pruning(
        tuple(month for month in found if isinstance(month, PrunedMonth)),
        tuple(month for month in found if isinstance(month, KeptMonth)),
    )


async def _prune_month(
    connection: Connection, month: asyncpg.Record, older_than_days: int, dry_run: bool
) -> PrunedMonth | KeptMonth:
    for _ in range(ATTEMPTS_MAX):
        try:
            async with connection.transaction():
                return await _drop_month(connection, month, older_than_days, dry_run)
        except (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError):
            await asyncio.sleep(PAUSE_S)
    raise TryLater(f"the recipients of {month['month']} are in use", remedy="prune later")


async def _drop_month(
    connection: Connection, month: asyncpg.Record, older_than_days: int, dry_run: bool
) -> PrunedMonth | KeptMonth:
    sql = queries("prune")
    bounds = month["first_id"], month["end_id"]
    await connection.execute(sql["limit_wait"])
    campaigns = await connection.fetch(sql["lock_campaigns"], *bounds, older_than_days)
    if keepers := [campaign for campaign in campaigns if not campaign["over"]]:
        return KeptMonth(month["month"], tuple(map(_keeper, keepers)))
    if not dry_run:
        await connection.execute(sql["keep_counts"], *bounds, actor(), month["month"])
        for row in await connection.fetch(sql["drop_statements"], month["suffix"]):
            await connection.execute(row["statement"])
    return PrunedMonth(month["month"], tuple(campaign["name"] for campaign in campaigns))


def _keeper(campaign: asyncpg.Record) -> Keeper:
    state = CampaignState(campaign["state"])
    return Keeper(campaign["name"], state, campaign["planned_at"], campaign["finished_at"])
