"""The plan of a campaign in five steps: opened → checked → staged → cut → frozen. Each has its own folder."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from drumbeat.campaigns.planning.change import Replaced
from drumbeat.campaigns.planning.checked.step import check_options
from drumbeat.campaigns.planning.created import CreatedCampaign, EarlierCampaigns, Outcome, PlannedCampaign
from drumbeat.campaigns.planning.cut.step import cut_ranges
from drumbeat.campaigns.planning.frozen.step import Frozen, freeze
from drumbeat.campaigns.planning.opened.step import Opened
from drumbeat.campaigns.planning.staged.first_messages import SHOWN, FirstMessage, first_messages
from drumbeat.campaigns.planning.staged.step import AudienceFound, Staged, stage_audience
from drumbeat.campaigns.sql import statements
from drumbeat.campaigns.template_shares import shares_in
from drumbeat.engine.core.states import CampaignState
from drumbeat.engine.core.template.campaign_template import freeze_templates
from drumbeat.engine.sending.header_file_uploads import OpenUploads

NOT_STORED = 0  # the id of the campaign of a dry run


async def plan(
    opened: Opened,
    *,
    dry_run: bool,
    head_digits: int | None,
    open_uploads: OpenUploads,
    replaces: Replaced | None = None,
) -> CreatedCampaign:
    """Plan what `open_campaign` has opened, and store it in place of the draft that it `replaces`.

    A dry run goes the same way, and stops before the last step.
    """
    checked = await check_options(opened)
    staged = await stage_audience(opened, checked, keeps_rejects=not dry_run)
    cut = cut_ranges(opened, checked, staged)
    if dry_run:
        found = replace(
            staged.audience,
            heads=await _heads(opened, staged, head_digits),
            first_messages=await _first_messages(opened, staged),
        )
        return _created(opened, staged, await _as_if_frozen(opened, staged), Outcome.DRY_RUN, found)
    frozen = await freeze(opened, staged, cut, open_uploads, replaces)
    return _created(opened, staged, frozen, Outcome.STORED)


async def _as_if_frozen(opened: Opened, staged: Staged) -> Frozen:
    suppressed = await opened.session.connection.fetchval(statements("plan")["count_suppressed"])
    return Frozen(campaign_id=NOT_STORED, counts=staged.rows.counts(suppressed))


async def _heads(opened: Opened, staged: Staged, digits: int | None) -> list[dict[str, Any]]:
    """Return how many staged recipients share the first `digits` of their phones, by template if there are
    several.
    """
    if digits is None:
        return []
    sql, connection = statements("plan"), opened.session.connection
    await connection.execute(sql["allow_hashing"])
    counted = "staged_by_template_and_head" if staged.rows.has_choice else "staged_by_head"
    return [dict(row) for row in await connection.fetch(sql[counted], digits)]


async def _first_messages(opened: Opened, staged: Staged) -> list[FirstMessage]:
    """Return the messages of the first rows that become recipients."""
    rows = staged.rows.first
    left_out = await opened.session.connection.fetch(
        statements("plan")["left_out_of"], [row.line for row in rows]
    )
    lines = {row["line"] for row in left_out}
    kept = [row for row in rows if row.line not in lines]
    return first_messages(staged.filling.templates, kept[:SHOWN])


def _created(
    opened: Opened,
    staged: Staged,
    frozen: Frozen,
    outcome: Outcome,
    audience: AudienceFound | None = None,
) -> CreatedCampaign:
    asked = opened.asked
    return CreatedCampaign(
        campaign=PlannedCampaign(
            campaign_id=frozen.campaign_id,
            name=asked.spec.name,
            state=CampaignState.DRAFT,
            phone_number_ids=asked.spec.phone_number_ids,
            templates=shares_in(freeze_templates(staged.filling.templates)),
            start_at=asked.guards.schedule.start_at,
        ),
        counts=frozen.counts,
        outcome=outcome,
        audience=audience or staged.audience,
        earlier=EarlierCampaigns(same_people=staged.same_people),
    )
