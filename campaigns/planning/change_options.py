"""The change of a planned campaign to options that need no new plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import asyncpg

from drumbeat.campaigns.describe_database import describe_database
from drumbeat.campaigns.options.schedule import require_future_end
from drumbeat.campaigns.planning.asked import Asked
from drumbeat.campaigns.planning.change import ChangeRequest, change_row, require_later_start
from drumbeat.campaigns.planning.change_rules import Change
from drumbeat.campaigns.planning.checked.numbers import limits_per_s_of
from drumbeat.campaigns.planning.created import CreatedCampaign, Outcome, existing_campaign, known_campaign
from drumbeat.engine.store.database import Connection


async def change_options(
    connection: Connection,
    row: asyncpg.Record,
    asked: Asked,
    changes: Sequence[Change],
    request: ChangeRequest,
    *,
    dry_run: bool,
) -> CreatedCampaign:
    """Change the campaign of this row. The `changes` are allowed; a dry run only checks the options."""
    schedule, known = asked.guards.schedule, known_campaign(row)
    await limits_per_s_of(connection, asked.spec.phone_number_ids, await describe_database(connection))
    require_future_end(schedule)
    if not request.now:
        await require_later_start(connection, known, schedule.start_at, changes)
    if not dry_run:
        await change_row(connection, known, asked, changes, actor=request.actor)
    found = existing_campaign(row, Outcome.DRY_RUN if dry_run else Outcome.STORED)
    return replace(found, campaign=replace(found.campaign, start_at=schedule.start_at), changes=changes)
