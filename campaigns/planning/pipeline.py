"""The plan of a campaign in five steps: opened → checked → staged → cut → frozen. Each has its own folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from drumbeat.campaigns.planning.change import Replaced
from drumbeat.campaigns.planning.checked.step import check_options
from drumbeat.campaigns.planning.created import CreatedCampaign, EarlierCampaigns, Outcome, PlannedCampaign
from drumbeat.campaigns.planning.cut.step import cut_ranges
from drumbeat.campaigns.planning.frozen.step import Frozen, freeze
from drumbeat.campaigns.planning.opened.step import Opened
from drumbeat.campaigns.planning.staged.step import Staged, stage_audience
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
        heads = await _heads(opened, staged, head_digits)
        return _created(opened, staged, await _as_if_frozen(opened, staged), Outcome.DRY_RUN, heads)
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


def _created(
    opened: Opened,
    staged: Staged,
    frozen: Frozen,
    outcome: Outcome,
    heads: Sequence[Mapping[str, Any]] = (),
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
        audience=replace(staged.audience, heads=heads),
        earlier=EarlierCampaigns(same_people=staged.same_people),
    )
