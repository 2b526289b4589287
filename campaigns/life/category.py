"""The category of a campaign's templates: that of its plan, and that of today.

Law: another category is another price, and may need another consent. So a campaign that was planned for one
is not started for another before a person agrees.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from drumbeat.campaigns.actor import note_audit
from drumbeat.campaigns.campaign import find_campaign, require_planned
from drumbeat.campaigns.command_text import command_text
from drumbeat.campaigns.options.identity import CATEGORIES, NOTED
from drumbeat.campaigns.sql import statements
from drumbeat.engine.core.template.campaign_template import CampaignTemplate, frozen_templates
from drumbeat.engine.errors import ConfigurationError
from drumbeat.engine.store.database import Connection, Pool


class CategoryChanged(ConfigurationError):
    """A campaign whose template has another category than at its plan."""

    code = "category_changed"


def category_changes(
    templates: Sequence[CampaignTemplate], planned: Mapping[str, str], now: Mapping[str, str]
) -> list[str]:
    """Return each change in words. `planned` and `now` have the category by `name (language)`; a template
    without one in either is left out.
    """
    found = []
    for template in templates:
        key = f"{template.name} ({template.language})"
        was, present = planned.get(key), now.get(key)
        if was and present and was.upper() != present.upper() and template.recipients != 0:
            found.append(f"template {key} was {was} when it was planned and is {present} now")
    return found


async def require_planned_categories(
    database: Pool | Connection, campaign_id: int, name: str, templates: Sequence[CampaignTemplate]
) -> None:
    """Raise CategoryChanged if a template has another category than was planned, or agreed to."""
    row = await database.fetchrow(statements("plan")["frozen_campaign"], campaign_id)
    planned = {} if row is None else row["options"].get(NOTED, {}).get(CATEGORIES, {})
    changes = category_changes(templates, planned, await present_categories(database, templates))
    if changes:
        raise CategoryChanged(
            f'the campaign "{name}" is not started: {"; ".join(changes)}',
            remedy=f"look at the price in `{command_text('campaign', 'plan', name)}`; to agree, use"
            f" `{command_text('campaign', 'accept-category', name)}`, and start it again",
        )


async def present_categories(
    database: Pool | Connection, templates: Sequence[CampaignTemplate]
) -> dict[str, str]:
    """Return the categories of these templates as they are stored now, by `name (language)`."""
    names = sorted({template.name for template in templates})
    rows = await database.fetch(statements("plan")["categories_of"], names)
    wanted = {f"{template.name} ({template.language})" for template in templates}
    return {row["template"]: row["category"] for row in rows if row["template"] in wanted}


async def accept_categories(database: Pool, name: str, *, actor: str) -> dict[str, str]:
    """Note that a person agrees to the present categories of a campaign's templates, and return them."""
    campaign = await find_campaign(database, name)
    require_planned(campaign)
    stored = await database.fetchval(statements("report")["templates"], campaign.campaign_id)
    templates = [each for each in frozen_templates(stored) if each.message is None]
    categories = await present_categories(database, templates)
    await database.execute(statements("plan")["accept_categories"], campaign.campaign_id, categories)
    await note_audit(database, actor, "accept-category", campaign.campaign_id, **categories)
    return categories
