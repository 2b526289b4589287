"""The change of a planned campaign's options without its audience, which may be gone by now."""

from collections.abc import Collection

from drumbeat.campaigns.options.identity import identify_again
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.asked import Asked
from drumbeat.campaigns.planning.change import ChangeRequest, allowed_changes
from drumbeat.campaigns.planning.change_options import change_options
from drumbeat.campaigns.planning.change_rules import Effect, effect_of
from drumbeat.campaigns.planning.created import CreatedCampaign, existing_campaign, known_campaign
from drumbeat.campaigns.planning.removal import lock_names, planned_row
from drumbeat.campaigns.progress import STATEMENT_TIMEOUT_S
from drumbeat.engine.core.states import CampaignState
from drumbeat.engine.store.database import close, connect


async def amend_campaign(
    url: str,
    spec: CampaignSpec,
    *,
    change_by: str,
    dry_run: bool = False,
    unchanged_in: Collection[CampaignState] = (),
    now: bool = False,
    leaves_drafts: bool = False,
) -> CreatedCampaign | None:
    """Change a planned campaign to other options with the same audience. Return None if that needs a new
    plan, or, with `leaves_drafts`, if it is a draft.

    This reads no audience. It raises the errors of `create_campaign`.
    """
    guards = spec.checked_guards()
    request = ChangeRequest(actor=change_by, unchanged_in=unchanged_in, now=now)
    connection = await connect(url, command_timeout_s=STATEMENT_TIMEOUT_S)
    try:
        await lock_names(connection, spec.name, spec.external_id)
        row = await planned_row(connection, spec, dry_run=dry_run)
        if row is None:
            return None
        known = known_campaign(row)
        if leaves_drafts and known.state is CampaignState.DRAFT:
            return None
        identity = identify_again(spec, known.options)
        changes = await allowed_changes(connection, known, identity, request)
        if not changes:
            return existing_campaign(row)
        if effect_of(changes) is Effect.PLANNED_ANEW:
            return None
        asked = Asked(spec=spec, guards=guards, identity=identity)
        return await change_options(connection, row, asked, changes, request, dry_run=dry_run)
    finally:
        await close(connection)
