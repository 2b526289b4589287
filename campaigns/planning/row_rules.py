"""The rules that a plan would check each row by, for a check without a plan."""

from collections.abc import Sequence

from drumbeat.campaigns.audience.check.row_check import RowRules
from drumbeat.campaigns.describe_database import describe_database
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.filling import Filling, fill
from drumbeat.campaigns.planning.template_set import load_templates
from drumbeat.engine.store.database import Connection


async def filling_of(connection: Connection, spec: CampaignSpec, header: Sequence[str]) -> Filling:
    """Return the templates and the rules of the rows. `header` has the columns of the audience. Raise the
    errors of `load_templates` and `fill`.
    """
    templates = await load_templates(connection, spec, database=await describe_database(connection))
    return fill(spec, templates, header)


async def row_rules(connection: Connection, spec: CampaignSpec, header: Sequence[str]) -> RowRules:
    """Return the rules of the rows. Raise the errors of `filling_of`."""
    return (await filling_of(connection, spec, header)).rules
