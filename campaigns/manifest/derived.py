"""Campaigns that are made from the stored options of others: clones, edits and retries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from campaigns.life.control import find_campaign, require_planned
from campaigns.manifest.campaign import campaign_spec
from campaigns.manifest.values import needs_audience, of_clone, of_edit
from campaigns.planning.amend import amend_campaign
from campaigns.planning.create import create_campaign
from campaigns.planning.created import CreatedCampaign
from campaigns.planning.plan import ProgressCallback, no_progress
from campaigns.planning.spec import CampaignSpec
from campaigns.planning.stored import stored_options, stored_values
from engine.process.disk_space import Disk
from engine.sending.header_file_uploads import OpenUploads, no_uploads
from engine.store.database import Connection, Pool


async def cloned(
    database: Pool | Connection, name: str, new: str, changes: Mapping[str, Any], unset: Iterable[str] = ()
) -> CampaignSpec:
    """The options of a campaign for one named `new`. `changes`, `unset`: by the keys of a manifest."""
    stored = await stored_options(database, name)
    return campaign_spec(**of_clone(stored.values, new, changes, unset, campaign_spec))


async def edited(
    database: Pool | Connection, name: str, changes: Mapping[str, Any], unset: Iterable[str] = ()
) -> CampaignSpec:
    """The options of the same campaign with the changes."""
    stored = await stored_options(database, name)
    return campaign_spec(**of_edit(stored.values, changes, unset, campaign_spec))


async def retried(database: Pool | Connection, name: str) -> CampaignSpec | None:
    """The options of a campaign for its retry; None if they are not stored as they were given."""
    campaign = await find_campaign(database, name)
    require_planned(campaign)
    values = await stored_values(database, campaign.campaign_id)
    return campaign_spec(**of_edit(values, {}, (), campaign_spec)) if values else None


async def edit_campaign(
    url: str,
    spec: CampaignSpec,
    changed: Iterable[str],
    progress: ProgressCallback = no_progress,
    *,
    change_by: str,
    disk: Disk | None = None,
    dry_run: bool = False,
    open_uploads: OpenUploads = no_uploads,
) -> CreatedCampaign:
    """Give a planned campaign these options. `changed`: the keys that differ, which say whether its audience
    must be read anew. ChangeRefused, with what differs, if one may not change now.
    """
    if not needs_audience((), changed):
        amended = await amend_campaign(url, spec, change_by=change_by, dry_run=dry_run)
        if amended is not None:
            return amended
    return await create_campaign(
        url, spec, progress, disk=disk, dry_run=dry_run, change_by=change_by, open_uploads=open_uploads
    )
