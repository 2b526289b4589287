"""The plan of a campaign that sends once more to the failed recipients of another one.

Law: it holds only recipients who are failed, each in one retry at most. Whoever turns out to be reached later
is left out when it sends (`engine.core.retry_guard`).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from drumbeat.campaigns.campaign import Campaign, find_campaign, require_planned
from drumbeat.campaigns.options.sources import CampaignResult
from drumbeat.campaigns.options.spec import PHONE, RETRY_CODES, RETRY_OF, CampaignSpec, retry_options
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.campaigns.planning.created import CreatedCampaign, existing_campaign
from drumbeat.campaigns.progress import ProgressCallback, no_progress
from drumbeat.campaigns.sql import statements
from drumbeat.engine.core.states import RecipientState
from drumbeat.engine.core.template.compiled import Media
from drumbeat.engine.errors import TryLater
from drumbeat.engine.process.disk_space import Disk
from drumbeat.engine.sending.header_file_uploads import OpenUploads, no_uploads
from drumbeat.engine.store.database import Connection, close, connect

_RETRY_NAME = re.compile(r"(.+)/retry-([0-9]{1,6})")


@dataclass(frozen=True, slots=True)
class RetryOptions:
    """The options that a retry may have of its own; all others are those of the campaign.

    `codes` limits the retry to failures with these codes; empty means all failures. `name` None means the
    next free name, such as `spring/retry-1`.
    """

    codes: tuple[int, ...] = ()
    name: str | None = None
    start_at: str | None = None
    expires_at: str | None = None
    rejects: Path | None = None


def retry_name(name: str) -> str:
    """Return the name of the retry of a campaign: `spring/retry-1` after `spring`, then `spring/retry-2`."""
    found = _RETRY_NAME.fullmatch(name)
    return f"{name}/retry-1" if found is None else f"{found[1]}/retry-{int(found[2]) + 1}"


async def plan_retry(
    url: str,
    name: str,
    given: RetryOptions,
    progress: ProgressCallback = no_progress,
    *,
    disk: Disk | None = None,
    dry_run: bool = False,
    original: CampaignSpec | None = None,
    open_uploads: OpenUploads = no_uploads,
) -> CreatedCampaign:
    """Plan the retry, or find that it is planned already. `original` are the options of the campaign, if they
    are stored as they were given.

    Raise the errors of `create_campaign`, and TryLater while another process plans a retry of the same
    campaign.
    """
    connection = await connect(url)
    try:
        campaign = await find_campaign(connection, name)
        if not await connection.fetchval(statements("plan")["try_lock"], f"retry:{campaign.campaign_id}"):
            raise TryLater(
                f'another process plans a retry of "{campaign.name}"', remedy="wait until it has ended"
            )
        require_planned(campaign)
        new_name = given.name or retry_name(campaign.name)
        if (known := await _known(connection, new_name, campaign.name, given.codes)) is not None:
            return known
        row = await connection.fetchrow(statements("plan")["frozen_campaign"], campaign.campaign_id)
        assert row is not None, "a campaign's row is never deleted once it is planned"
        spec = retry_spec(campaign, row["options"], row["template"], new_name, given)
        if original is not None:
            spec = with_options_of(original, spec)
        return await create_campaign(
            url, spec, progress, disk=disk, dry_run=dry_run, open_uploads=open_uploads
        )
    finally:
        await close(connection)


async def _known(
    connection: Connection, new_name: str, retried: str, codes: Sequence[int]
) -> CreatedCampaign | None:
    """Return the same retry if it is planned. Recipients who failed since then make no difference."""
    row = await connection.fetchrow(statements("plan")["planned_retry"], new_name)
    if row is None or {key: row["options"].get(key) for key in (RETRY_OF, RETRY_CODES)} != retry_options(
        retried, codes
    ):
        return None
    return existing_campaign(row)


def with_options_of(original: CampaignSpec, retry: CampaignSpec) -> CampaignSpec:
    """Return the retry with what fills the templates, the guards and the order of the original campaign.

    No canary: the recipients are few, and failed before. A person keeps the variant.
    """
    return replace(
        retry,
        template=original.template,
        params=original.params,
        variants=original.variants,
        experiment=original.experiment or (original.name if original.variants else None),
        header_media=original.header_media,
        header=original.header,
        header_directory=original.media_directory,
        guards=replace(original.guards, max_recipients=None),
        order=replace(original.order, canary=None),
    )


def retry_spec(
    campaign: Campaign,
    options: Mapping[str, Any],
    template: Mapping[str, Any],
    new_name: str,
    given: RetryOptions,
) -> CampaignSpec:
    """Return the options of the retry: those of the campaign, without its start and end."""
    media = template.get("header_media")
    return CampaignSpec(
        name=new_name,
        template=campaign.template,
        language=campaign.language,
        language_column=options.get("--language-column"),
        audience=CampaignResult(campaign.name, RecipientState.FAILED, frozenset(given.codes), once=True),
        numbers=tuple(campaign.phone_number_ids),
        params=tuple(options.get("--param") or ()),
        phone_column=PHONE,
        start_at=given.start_at,
        expires_at=given.expires_at,
        window=options.get("--window"),
        time_zone=options.get("--time-zone") or "UTC",
        on_unknown=campaign.on_unknown,
        max_failed=campaign.max_failed,
        header_media=Media(**media) if media else None,
        message=template.get("message"),
        rejects=given.rejects,
        retry_of=campaign.name,
        retry_codes=given.codes,
    )
