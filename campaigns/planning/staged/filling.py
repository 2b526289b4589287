"""The values that fill a campaign's templates: buttons, and a column or fixed text for each variable."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from drumbeat.campaigns.audience.check.header_media import HeaderMedia, file_problem
from drumbeat.campaigns.audience.check.message_rules import message_rules
from drumbeat.campaigns.audience.check.row_rules import RowRules
from drumbeat.campaigns.describe_database import describe_database
from drumbeat.campaigns.options.param_texts import is_link, is_literal
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.checked.template import check_same_placeholders
from drumbeat.campaigns.planning.checked.template_set import load_templates
from drumbeat.campaigns.planning.staged.params import read_params
from drumbeat.campaigns.planning.staged.spec_rules import rules_for
from drumbeat.campaigns.reject import REASONS
from drumbeat.engine.core.template.campaign_template import CampaignTemplate
from drumbeat.engine.errors import UsageError
from drumbeat.engine.store.database import Connection


@dataclass(frozen=True, slots=True)
class Filling:
    """The templates as messages fill them, and the rules of the rows that do."""

    templates: Sequence[CampaignTemplate]
    rules: RowRules


def fill(spec: CampaignSpec, templates: Sequence[CampaignTemplate], header: Sequence[str]) -> Filling:
    """Return what fills the templates. `header` has the columns of the audience.

    Raise UsageError for a placeholder that nothing fills, or that not all templates have, and as
    `read_params` does.
    """
    found = read_params(templates[0], spec.param or (), [*header, *spec.mapped])
    filled = [template.filled(found.buttons) for template in templates]
    check_same_placeholders(filled)
    rules = replace(rules_for(spec, filled), params=found.columns, message=message_rules(filled))
    if spec.header is None:
        return Filling(filled, rules)
    media = HeaderMedia(templates[0].header_kind, spec.media_directory)
    if is_literal(spec.header) and not is_link(spec.header[1:]):
        _require_header_file(media.kind, media.directory / spec.header[1:])
    return Filling(filled, replace(rules, params=(spec.header, *found.columns), media=media))


async def filling_of(connection: Connection, spec: CampaignSpec, header: Sequence[str]) -> Filling:
    """Return what fills the templates, for a check without a plan. `header` has the columns of the audience.
    Raise the errors of `load_templates` and `fill`.
    """
    templates = await load_templates(connection, spec, database=await describe_database(connection))
    return fill(spec, templates, header)


def _require_header_file(kind: str, path: Path) -> None:
    """Raise UsageError unless a header of this kind can show the one file of all recipients."""
    try:
        problem = file_problem(kind, path)
    except OSError:
        problem = "media_unreadable"
    if problem is not None:
        raise UsageError(
            f"{{header_file}} {{path}} cannot be sent as {kind}: {REASONS[problem]}", values={"path": path}
        )
