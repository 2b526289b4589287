"""The creation of a campaign: everything is checked, then planned. The same create again changes nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import replace
from functools import partial

from drumbeat.campaigns.options.identity import AUDIENCE_CONTENT
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.change import ChangeRequest, Replaced, allowed_changes, differs
from drumbeat.campaigns.planning.change_options import change_options
from drumbeat.campaigns.planning.change_rules import Effect, effect_of
from drumbeat.campaigns.planning.created import CreatedCampaign, existing_campaign, known_campaign
from drumbeat.campaigns.planning.opened.disk_limit import stop_when_disk_is_short
from drumbeat.campaigns.planning.opened.step import Opened, open_campaign
from drumbeat.campaigns.planning.pipeline import plan
from drumbeat.campaigns.planning.removal import planned_row
from drumbeat.campaigns.progress import ProgressCallback, no_progress
from drumbeat.campaigns.sql import statements
from drumbeat.engine.core.states import CampaignState
from drumbeat.engine.process.disk_space import Disk
from drumbeat.engine.sending.header_file_uploads import OpenUploads, no_uploads


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
    change = None
    if change_by is not None:
        change = ChangeRequest(actor=change_by, unchanged_in=unchanged_in, now=now)
    async with open_campaign(url, spec, stop_when_disk_is_short(disk, progress)) as opened:
        plan_it = partial(plan, opened, dry_run=dry_run, head_digits=head_digits, open_uploads=open_uploads)
        created = await _create_or_change(opened, plan_it, change, dry_run=dry_run)
        same_audience = await _same_audience(opened, created)
        return replace(created, earlier=replace(created.earlier, same_audience=same_audience))


async def _create_or_change(
    opened: Opened,
    plan_it: Callable[..., Awaitable[CreatedCampaign]],
    change: ChangeRequest | None,
    *,
    dry_run: bool,
) -> CreatedCampaign:
    """Plan a new campaign. One that exists stays if it is the same; else `change` says who may change it."""
    connection, asked = opened.session.connection, opened.asked
    row = await planned_row(connection, asked.spec, dry_run=dry_run)
    if row is None:
        return await plan_it()
    known = known_campaign(row)
    if known.content_hash == asked.identity.content_hash:
        return existing_campaign(row)
    if change is None:
        raise await differs(connection, known, asked.identity)
    changes = await allowed_changes(connection, known, asked.identity, change)
    if effect_of(changes) is Effect.PLANNED_ANEW:
        planned = await plan_it(replaces=Replaced(known=known, actor=change.actor))
        return replace(planned, changes=changes)
    return await change_options(connection, row, asked, changes, change, dry_run=dry_run)


async def _same_audience(opened: Opened, created: CreatedCampaign) -> list[str]:
    content = opened.asked.identity.options[AUDIENCE_CONTENT]
    rows = await opened.session.connection.fetch(
        statements("plan")["same_audience"], AUDIENCE_CONTENT, content, created.campaign_id
    )
    return [row["name"] for row in rows]
