"""The pruning of old campaigns: the partitions of whole months of recipients and outcomes are dropped.

Law: a month is dropped only if every campaign in it ended before the limit. The campaign's own row stays, so
that its name stays taken, and its counts move to the audit. Messages of people go by their own age.
"""

import asyncio
from dataclasses import dataclass
from datetime import datetime

import asyncpg

from drumbeat.campaigns.actor import actor
from drumbeat.campaigns.sql import statements
from drumbeat.engine.core.states import CampaignState
from drumbeat.engine.errors import TryLater
from drumbeat.engine.store.database import Connection, Pool

# A drop locks the tables, and senders lock them in a different order. So a prune stops waiting and tries
# again long before Postgres detects a deadlock (1 s) and ends one of the two, perhaps the sender.
LOCK_WAITS_MAX = 50
PAUSE_S = 0.2


@dataclass(frozen=True, slots=True)
class PrunedMonth:
    """A month ("2026-03") that was dropped, the campaigns planned in it, and how many recipients they had."""

    month: str
    campaigns: tuple[str, ...]
    recipients: int


@dataclass(frozen=True, slots=True)
class BlockingCampaign:
    """A campaign that keeps its month. `planned_at` None means that its create was killed or still runs."""

    name: str
    state: CampaignState
    planned_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class KeptMonth:
    """A month that is old enough but stays, and the campaigns that did not end before the limit."""

    month: str
    campaigns: tuple[BlockingCampaign, ...]


@dataclass(frozen=True, slots=True)
class Pruning:
    """The months that were dropped, or would be, and those that stay. `messages` counts messages of people,
    and events that could not be read, that were older than the limit.
    """

    pruned: tuple[PrunedMonth, ...]
    kept: tuple[KeptMonth, ...]
    messages: int


async def prune(pool: Pool, *, older_than_days: int, dry_run: bool) -> Pruning:
    """Drop the months whose campaigns all ended more than `older_than_days` days ago.

    `dry_run` returns the same and drops nothing. Raise TryLater if the tables stay locked.
    """
    async with pool.acquire() as connection:
        months = await connection.fetch(statements("prune")["months"], older_than_days)
        found = [await _prune_month(connection, month, older_than_days, dry_run) for month in months]
        messages = await connection.fetchval(statements("prune")["count_messages"], older_than_days)
        if not dry_run:
            for statement in ("delete_messages", "delete_unreadable"):
                await connection.execute(statements("prune")[statement], older_than_days)
            await connection.execute(statements("prune")["delete_results_writers"], older_than_days)
            await connection.execute(statements("prune")["delete_notifications"], older_than_days)
    return Pruning(
        tuple(month for month in found if isinstance(month, PrunedMonth)),
        tuple(month for month in found if isinstance(month, KeptMonth)),
        messages,
    )


async def _prune_month(
    connection: Connection, month: asyncpg.Record, older_than_days: int, dry_run: bool
) -> PrunedMonth | KeptMonth:
    for _ in range(LOCK_WAITS_MAX):
        try:
            async with connection.transaction():
                return await _drop_month(connection, month, older_than_days, dry_run)
        except (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError):
            await asyncio.sleep(PAUSE_S)
    raise TryLater(f"the recipients of {month['month']} are in use", remedy="run it again later")


async def _drop_month(
    connection: Connection, month: asyncpg.Record, older_than_days: int, dry_run: bool
) -> PrunedMonth | KeptMonth:
    sql = statements("prune")
    bounds = month["first_id"], month["end_id"]
    await connection.execute(sql["limit_wait"])
    campaigns = await connection.fetch(sql["lock_campaigns"], *bounds, older_than_days)
    if blocking := [campaign for campaign in campaigns if not campaign["over"]]:
        return KeptMonth(month["month"], tuple(map(_blocking_campaign, blocking)))
    recipients = await connection.fetchval(sql["count_recipients"], *bounds)
    if not dry_run:
        await connection.execute(sql["keep_counts"], *bounds, actor(), month["month"])
        await connection.execute(sql["delete_retried"], *bounds)
        for row in await connection.fetch(sql["drop_statements"], month["suffix"]):
            await connection.execute(row["statement"])
    names = tuple(campaign["name"] for campaign in campaigns)
    return PrunedMonth(month["month"], names, recipients)


def _blocking_campaign(campaign: asyncpg.Record) -> BlockingCampaign:
    state = CampaignState(campaign["state"])
    return BlockingCampaign(campaign["name"], state, campaign["planned_at"], campaign["finished_at"])
