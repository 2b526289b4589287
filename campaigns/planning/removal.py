"""The locks of names, and the removal of campaigns that never sent: what an interrupted create left, drafts,
and what was not started.

Law: a campaign is first marked as not planned, so that nobody can start it, and its row goes last. A removal
that is killed is finished by the next create of the name, or by the next delete.
"""

from collections.abc import Collection
from typing import Any

import asyncpg

from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.sql import statements
from drumbeat.engine.core.states import CampaignState
from drumbeat.engine.errors import TryLater
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.queries import queries


async def lock_names(
    connection: Connection, name: str, external_id: str | None, *, for_transaction: bool = False
) -> None:
    """Take the locks of a create, held until the session ends, or the transaction. Raise TryLater if another
    has them.
    """
    lock = statements("plan")["try_transaction_lock" if for_transaction else "try_lock"]
    keys = [f"name:{name}"] + ([f"external:{external_id}"] if external_id else [])
    for key in keys:
        if not await connection.fetchval(lock, key):
            raise TryLater(
                f'another process is creating the campaign "{name}"', remedy="wait until it has ended"
            )


async def planned_row(connection: Connection, spec: CampaignSpec, *, dry_run: bool) -> asyncpg.Record | None:
    """Return the planned campaign with this name or external id, if there is one. Unless it is a dry run,
    remove what an interrupted create left.
    """
    rows = await connection.fetch(statements("plan")["same_identity"], spec.name, spec.external_id)
    planned = []
    for row in rows:
        if row["planned_at"] is not None:
            planned.append(row)
        elif not dry_run:
            await remove_leftovers(connection, row["campaign_id"])
    return planned[0] if planned else None


async def remove_leftovers(connection: Connection, campaign_id: int) -> None:
    """Remove an unplanned campaign, its row last. Raise TryLater while its create still writes."""
    sql = statements("plan")
    while True:
        async with connection.transaction():
            try:
                await connection.execute(sql["seize_unplanned"], campaign_id)
            except asyncpg.LockNotAvailableError as error:
                raise TryLater(
                    "another process is creating the campaign", remedy="wait until it has ended"
                ) from error
            rows = await connection.fetch(sql["leftover_ranges"], campaign_id)
            ids = [row["range_id"] for row in rows]
            for table in ("recipients", "retried", "range_counters", "ranges"):
                await connection.execute(sql[f"remove_{table}"], ids)
        if not ids:
            break
    await connection.execute(sql["remove_unplanned"], campaign_id)


async def remove_planned(
    connection: Connection,
    campaign_id: int,
    name: str,
    states: Collection[CampaignState],
    *,
    actor: str,
    action: str,
    detail: dict[str, Any],
) -> None:
    """Remove a planned campaign with its recipients, and note who did it. The caller holds its locks.

    Raise TryLater if it was started, or is in none of these `states` any more.
    """
    async with connection.transaction():
        if await connection.fetchval(statements("plan")["retire"], campaign_id, list(states)) is None:
            raise TryLater(
                f'the campaign "{name}" was started meanwhile', remedy="look at it, and repeat the command"
            )
        await connection.execute(queries("campaigns")["audit"], actor, action, campaign_id, detail)
    await remove_leftovers(connection, campaign_id)
