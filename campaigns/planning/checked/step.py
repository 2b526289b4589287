"""The step that checks the end, the numbers and the templates that the options name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from drumbeat.campaigns.describe_database import describe_database
from drumbeat.campaigns.options.schedule import require_future_end
from drumbeat.campaigns.planning.checked.numbers import limits_per_s_of
from drumbeat.campaigns.planning.checked.template_set import load_templates
from drumbeat.campaigns.planning.opened.step import Opened
from drumbeat.campaigns.sql import statements
from drumbeat.engine.core.template.campaign_template import CampaignTemplate


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The limits of the campaign's numbers, in any order, and its templates."""

    limits_per_s: Sequence[float]
    templates: Sequence[CampaignTemplate]


async def check_options(opened: Opened) -> Checked:
    """Return what the options name.

    Raise UsageError for an option that does not fit, and ConfigurationError for a number or a template that
    cannot be used.
    """
    connection, asked = opened.session.connection, opened.asked
    require_future_end(asked.guards.schedule)
    if asked.guards.cap is not None:
        await connection.execute(statements("guards")["index_phones"])
    database = await describe_database(connection)
    limits_per_s = await limits_per_s_of(connection, asked.spec.phone_number_ids, database)
    templates = await load_templates(connection, asked.spec, database=database)
    return Checked(limits_per_s=limits_per_s, templates=templates)
