"""The plan of a campaign that sends once more to the failed recipients of another one.

Law: it holds only recipients who are failed, each in one retry at most. Whoever turns out to be reached later
is left out when it sends (`engine.core.retry_guard`).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drumbeat.campaigns.campaign import Campaign, find_campaign, require_planned
from drumbeat.campaigns.options.identity import RETRY_KEYS, retry_options
from drumbeat.campaigns.options.sources import CampaignResult
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.options.table import OPTIONS
from drumbeat.campaigns.options.values import AUDIENCE_KEYS, NOT_CLONED, READING_KEYS, STORED, checked
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.campaigns.planning.created import CreatedCampaign, existing_campaign
from drumbeat.campaigns.progress import ProgressCallback, no_progress
from drumbeat.campaigns.sql import statements
from drumbeat.engine.core.error_codes import FINAL_CODES
from drumbeat.engine.core.states import RecipientState
from drumbeat.engine.errors import TryLater
from drumbeat.engine.process.disk_space import Disk
from drumbeat.engine.sending.header_file_uploads import OpenUploads, no_uploads
from drumbeat.engine.store.database import Connection, close, connect

# The options that a retry takes from its campaign, with the campaign's own values.
_KEPT = (
    OPTIONS.keys()
    - AUDIENCE_KEYS
    - READING_KEYS
    - set(NOT_CLONED)
    - {
        "exclude",
        "max_recipients",
        "min_recipients",
        "unchanged_for",
        "allow_empty",
        "strict",
        "strict_language",
        "start_at",
        "expires_at",
    }
    - {"canary", "canary_max_failed", "canary_minutes", "canary_approve"}
)
_RETRY_NAME = re.compile(r"(.+)/retry-([0-9]{1,6})")


@dataclass(frozen=True, slots=True)
class RetryOptions:
    """The options that a retry may have of its own; all others are those of the campaign.

    `codes` limits the retry to failures with these codes; empty means all that a retry may help, or, with
    `all_codes`, all. `name` None means the
    next free name, such as `spring/retry-1`.
    """

    codes: tuple[int, ...] = ()
    name: str | None = None
    start_at: str | None = None
    expires_at: str | None = None
    rejects: Path | None = None
    all_codes: bool = False

    @property
    def without(self) -> frozenset[int]:
        """Return the codes whose recipients are left out."""
        return frozenset() if self.codes or self.all_codes else FINAL_CODES


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
    open_uploads: OpenUploads = no_uploads,
) -> CreatedCampaign:
    """Plan the retry, or find that it is planned already.

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
        if (known := await _known(connection, new_name, campaign.name, given)) is not None:
            return known
        row = await connection.fetchrow(statements("plan")["frozen_campaign"], campaign.campaign_id)
        assert row is not None, "a campaign's row is never deleted once it is planned"
        spec = retry_spec(campaign, row["options"], row["template"], new_name, given)
        return await create_campaign(
            url, spec, progress, disk=disk, dry_run=dry_run, open_uploads=open_uploads
        )
    finally:
        await close(connection)


async def _known(
    connection: Connection, new_name: str, retried: str, given: RetryOptions
) -> CreatedCampaign | None:
    """Return the same retry if it is planned. Recipients who failed since then make no difference."""
    row = await connection.fetchrow(statements("plan")["planned_retry"], new_name)
    wanted = retry_options(retried, given.codes, all_codes=given.all_codes)
    if row is None or {key: row["options"][key] for key in RETRY_KEYS if key in row["options"]} != wanted:
        return None
    return existing_campaign(row)


def retry_spec(
    campaign: Campaign,
    options: Mapping[str, Any],
    template: Mapping[str, Any],
    new_name: str,
    given: RetryOptions,
) -> CampaignSpec:
    """Return the options of the retry: those of the campaign, without its times, its canary and what belongs
    to its audience. The recipients are few, and failed before. A person keeps the variant.
    """
    kept = checked({key: value for key, value in options.items() if key in _KEPT}, STORED)
    if kept.get("variant") and not kept.get("experiment"):
        kept["experiment"] = campaign.name
    own = {
        "name": new_name,
        "language": campaign.language,
        "number": list(campaign.phone_number_ids),
        "start_at": given.start_at,
        "expires_at": given.expires_at,
        "on_unknown": campaign.on_unknown,
        "max_failed": campaign.max_failed,
        "rejects": given.rejects,
    }
    return CampaignSpec(
        **{**kept, **own},
        read_from=CampaignResult(
            campaign.name, RecipientState.FAILED, frozenset(given.codes), once=True, without=given.without
        ),
        header_directory=_media_directory(options),
        message=template.get("message"),
        retry_of=campaign.name,
        retry_codes=given.codes,
        retry_all_codes=given.all_codes,
    )


def _media_directory(options: Mapping[str, Any]) -> Path | None:
    """Return the directory in which paths of a header's column begin: that of the campaign's audience."""
    file = options.get("audience")
    return None if file is None or not Path(file).is_absolute() else Path(file).parent
