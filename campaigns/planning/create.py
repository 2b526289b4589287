"""The creation of a campaign: everything is checked, then planned. The same create again changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from contextlib import ExitStack
from dataclasses import replace

import asyncpg

from drumbeat.campaigns.audience.check.corrections import sha256_of
from drumbeat.campaigns.audience.open.opening import OpenAudience
from drumbeat.campaigns.describe_database import describe_database
from drumbeat.campaigns.options.identity import AUDIENCE_CONTENT, Identity, identify
from drumbeat.campaigns.options.schedule import require_future_end
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.change import (
    Asked,
    Replaced,
    change_row,
    differs,
    require_allowed,
    require_later_start,
)
from drumbeat.campaigns.planning.change_rules import Effect, effect_of
from drumbeat.campaigns.planning.created import CreatedCampaign, existing_campaign, known_campaign
from drumbeat.campaigns.planning.disk_limit import stop_when_disk_is_short
from drumbeat.campaigns.planning.exclusion import open_exclusions
from drumbeat.campaigns.planning.header_files import header_content
from drumbeat.campaigns.planning.planning import Planning, limits_per_s_of
from drumbeat.campaigns.planning.removal import lock_names, remove_leftovers
from drumbeat.campaigns.planning.source import open_source
from drumbeat.campaigns.progress import STATEMENT_TIMEOUT_S, ProgressCallback, no_progress
from drumbeat.campaigns.sql import statements
from drumbeat.engine.core.states import CampaignState
from drumbeat.engine.process.disk_space import Disk
from drumbeat.engine.sending.header_file_uploads import OpenUploads, no_uploads
from drumbeat.engine.store.database import Connection, close, connect


async def create_campaign(
    url: str,
    spec: CampaignSpec,
    progress: ProgressCallback = no_progress,
    *,
    disk: Disk | None = None,
    dry_run: bool = False,
    change_by: str | None = None,
    open_uploads: OpenUploads = no_uploads,
    head_digits: int | None = None,
    unchanged_in: Collection[CampaignState] = (),
    now: bool = False,
) -> CreatedCampaign:
    """Plan a campaign from its audience, or find that it is planned already.

    `dry_run` checks everything and stores nothing; with `head_digits`, it also counts recipients by template
    and so many first digits of their phones. `change_by` names who changes a campaign that exists with other
    options, by the table in `change_rules.py`, which may plan a draft anew; with None, such a campaign is
    refused. `open_uploads` connects to the service if local files of headers must be uploaded. In the states
    `unchanged_in`, nothing may change. With `now`, a change may make a scheduled campaign send at once; else
    it is refused with StartsAtOnce. `disk` is the disk of the database, if it is on this machine.

    Raise UsageError for a wrong option, ConfigurationError for a wrong file, template or number and for a
    name that another campaign has, and TryLater while another process creates it. It then leaves nothing
    behind, except the list of rejects if they are the reason. Raise TryLater if the disk gets too full. The
    list of rejects and a half-planned campaign may then be left behind; the next create removes them.
    """
    guards = spec.checked_guards()
    with ExitStack() as files:
        source = await open_source(url, spec, files)
        audience_sha256 = await asyncio.to_thread(source.sha256)
        header = await asyncio.to_thread(header_content, spec)
        connection = await connect(url, command_timeout_s=STATEMENT_TIMEOUT_S)
        try:
            exclusions = await open_exclusions(connection, spec.exclude or (), files)
            excluded = [exclusion.content for exclusion in exclusions]
            corrected = sha256_of(spec.corrections)
            identity = identify(spec, audience_sha256, excluded, header, corrected)
            await lock_names(connection, spec.name, spec.external_id)
            guarded = stop_when_disk_is_short(disk, progress)
            planning = Planning(
                url,
                connection,
                spec,
                guards,
                identity,
                exclusions,
                guarded,
                dry_run,
                open_uploads,
                head_digits,
            )
            created = await _create_or_change(planning, source, change_by, unchanged_in, now=now)
            return replace(created, same_audience=await _same_audience(connection, identity, created))
        finally:
            await close(connection)


async def _create_or_change(
    planning: Planning,
    source: OpenAudience,
    change_by: str | None,
    unchanged_in: Collection[CampaignState],
    *,
    now: bool,
) -> CreatedCampaign:
    connection, spec = planning.connection, planning.spec
    row = await planned_row(connection, spec, dry_run=planning.dry_run)
    if row is None:
        return await planning.run(source)
    known = known_campaign(row)
    if known.content_hash == planning.identity.content_hash:
        return existing_campaign(row)
    if change_by is None:
        raise await differs(connection, known, planning.identity)
    changes = known.changes_to(planning.identity)
    await require_allowed(connection, known, changes, unchanged_in)
    if effect_of(changes) is Effect.PLANNED_ANEW:
        anew = replace(planning, replaces=Replaced(known, change_by))
        return replace(await anew.run(source), changes=changes)
    asked = Asked(spec, planning.guards.schedule, planning.identity, changes)
    return await change_options(connection, row, asked, change_by, dry_run=planning.dry_run, now=now)


async def change_options(
    connection: Connection, row: asyncpg.Record, asked: Asked, actor: str, *, dry_run: bool, now: bool
) -> CreatedCampaign:
    await limits_per_s_of(connection, asked.spec.phone_number_ids, await describe_database(connection))
    require_future_end(asked.schedule)
    known = known_campaign(row)
    if not now:
        await require_later_start(connection, known, asked)
    if not dry_run:
        await change_row(connection, known, asked, actor=actor)
    changed = existing_campaign(row, asked.changes, dry_run=dry_run)
    return replace(changed, start_at=asked.schedule.start_at)


async def _same_audience(connection: Connection, identity: Identity, created: CreatedCampaign) -> list[str]:
    content = identity.options[AUDIENCE_CONTENT]
    rows = await connection.fetch(
        statements("plan")["same_audience"], AUDIENCE_CONTENT, content, created.campaign_id
    )
    return [row["name"] for row in rows]


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
