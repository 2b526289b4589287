"""The step that stores a campaign with its recipients.

Law: a campaign is planned when its `planned_at` is set. If planning is killed before, nothing sends the
campaign, and the next create of its name removes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from drumbeat.campaigns.options.identity import CATEGORIES, NOTED, UNMATCHED
from drumbeat.campaigns.options.order import canary_of
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.options.stored_variables import VARIABLES
from drumbeat.campaigns.planning.change import Replaced
from drumbeat.campaigns.planning.counts import PlanCounts
from drumbeat.campaigns.planning.cut.step import Cut
from drumbeat.campaigns.planning.frozen.chunks import write_chunks
from drumbeat.campaigns.planning.frozen.header_files import uploaded_files
from drumbeat.campaigns.planning.frozen.retry_links import link_retry
from drumbeat.campaigns.planning.opened.step import Opened
from drumbeat.campaigns.planning.removal import remove_leftovers
from drumbeat.campaigns.planning.staged.step import Staged
from drumbeat.campaigns.sql import statements
from drumbeat.engine.core.template.campaign_template import freeze_templates
from drumbeat.engine.errors import TryLater
from drumbeat.engine.sending.header_file_uploads import OpenUploads
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.header_files import add_files


@dataclass(frozen=True, slots=True, kw_only=True)
class Frozen:
    """A campaign that is stored."""

    campaign_id: int
    counts: PlanCounts


async def freeze(
    opened: Opened, staged: Staged, cut: Cut, open_uploads: OpenUploads, replaces: Replaced | None
) -> Frozen:
    """Upload the files of headers, remove the draft that the campaign replaces, and store the campaign.

    Raise TryLater if the draft is no draft any more, or if another retry has one of the recipients by now.
    """
    connection, asked = opened.session.connection, opened.asked
    files = await uploaded_files(opened.session, asked.spec, staged, open_uploads)
    if replaces is not None:
        await replaces.remove(connection, asked.identity)
    categories = await categories_of(connection, staged)
    row = await connection.fetchrow(
        statements("plan")["insert_campaign"], *campaign_columns(opened, staged, categories)
    )
    assert row is not None
    campaign_id: int = row["campaign_id"]
    if files:
        await add_files(connection, campaign_id, files)
    await connection.execute(statements("guards")["set_guards"], campaign_id, *asked.guards.columns())
    frozen = await write_chunks(opened.session, campaign_id, row["day"], staged.rows, cut)
    counts = staged.rows.counts(frozen.suppressed, frozen.without_hours)
    if frozen.recipients != counts.recipients:
        raise RuntimeError(f"{counts.recipients} recipients were staged, {frozen.recipients} frozen")
    zones = None if cut.zones is None else cut.zones.found
    await connection.execute(statements("guards")["set_zones"], campaign_id, zones)
    await _insert_canary(connection, asked.spec, campaign_id, counts.recipients, cut.canary_below)
    await _finish(connection, asked.spec, campaign_id, counts)
    return Frozen(campaign_id=campaign_id, counts=counts)


async def _finish(connection: Connection, spec: CampaignSpec, campaign_id: int, counts: PlanCounts) -> None:
    """Mark the campaign as planned, a retry together with its links.

    Raise TryLater, and leave nothing, if another retry has one of its recipients by now.
    """
    try:
        async with connection.transaction():
            if spec.retry_of is not None:
                await link_retry(connection, campaign_id, spec.retry_of, counts.recipients)
            await connection.execute(
                statements("plan")["finish_plan"],
                campaign_id,
                counts.audience_rows,
                counts.rejected,
                counts.duplicates,
                counts.recipients,
            )
    except TryLater:
        await remove_leftovers(connection, campaign_id)
        raise


async def _insert_canary(
    connection: Connection, spec: CampaignSpec, campaign_id: int, recipients: int, below: int
) -> None:
    if (canary := canary_of(spec)) is None:
        return
    await connection.execute(
        statements("plan")["insert_canary"],
        campaign_id,
        min(canary.recipients, recipients),
        below,
        canary.max_failed,
        canary.needs_approval,
        canary.minutes * 60,
    )


async def categories_of(connection: Connection, staged: Staged) -> dict[str, str]:
    """Return the categories of the templates, which the start compares with those of that time."""
    templates = staged.filling.templates
    rows = await connection.fetch(
        statements("plan")["categories_of"], sorted({template.name for template in templates})
    )
    keys = {f"{template.name} ({template.language})" for template in templates}
    return {row["template"]: row["category"] for row in rows if row["template"] in keys}


def campaign_columns(opened: Opened, staged: Staged, categories: Mapping[str, str]) -> tuple[Any, ...]:
    """Return the arguments of the statement `insert_campaign`."""
    spec, schedule, identity = opened.asked.spec, opened.asked.guards.schedule, opened.asked.identity
    unmatched = {UNMATCHED: dict(staged.rows.unmatched)} if staged.rows.unmatched else {}
    noted = {CATEGORIES: dict(categories)} if categories else {}
    return (
        spec.name,
        spec.external_id,
        identity.content_hash,
        {
            **identity.options,
            VARIABLES: list(staged.filling.rules.params),
            NOTED: {**opened.source.noted, **unmatched, **noted},
        },
        freeze_templates(staged.filling.templates),
        spec.phone_number_ids,
        spec.on_unknown,
        schedule.window_opens,
        schedule.window_closes,
        schedule.time_zone,
        schedule.start_at,
        schedule.expires_at,
        spec.max_failed,
        spec.urgency.word,
        spec.share,
        spec.pause_at_failed,
    )
