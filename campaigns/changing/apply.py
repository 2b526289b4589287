"""A campaign as a manifest describes it: created, changed, or left as it is.

Law: a job repeats its manifest while the campaign runs, and a live query then gives other rows each time.
Once a campaign is no draft, its people are those who were planned.
"""

from __future__ import annotations

from dataclasses import replace

from drumbeat.campaigns.changing.amend import amend_campaign
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.campaigns.planning.created import CreatedCampaign
from drumbeat.campaigns.progress import ProgressCallback, no_progress
from drumbeat.engine.process.disk_space import Disk
from drumbeat.engine.sending.header_file_uploads import OpenUploads, no_uploads


async def apply_campaign(
    url: str,
    spec: CampaignSpec,
    progress: ProgressCallback = no_progress,
    *,
    change_by: str,
    disk: Disk | None = None,
    dry_run: bool = False,
    open_uploads: OpenUploads = no_uploads,
    now: bool = False,
    keep_audience: bool = True,
) -> CreatedCampaign:
    """Create the campaign, or change it to these options. `now` is as in `create_campaign`.

    With `keep_audience`, the audience of a campaign that is no draft is not even opened. Without, one with
    other rows is refused. Raise the errors of `create_campaign`.
    """
    if keep_audience:
        kept = await amend_campaign(
            url, spec, change_by=change_by, dry_run=dry_run, now=now, leaves_drafts=True
        )
        if kept is not None:
            return replace(kept, audience_kept=True)
    return await create_campaign(
        url,
        spec,
        progress,
        disk=disk,
        dry_run=dry_run,
        change_by=change_by,
        open_uploads=open_uploads,
        now=now,
    )
