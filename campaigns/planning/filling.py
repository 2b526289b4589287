"""The values that fill a campaign's templates: buttons, and a column or fixed text for each variable."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from drumbeat.campaigns.audience.check.header_media import HeaderMedia
from drumbeat.campaigns.audience.check.row_check import RowRules
from drumbeat.campaigns.options.param_texts import is_link, is_literal
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.header_files import require_header_file
from drumbeat.campaigns.planning.params import read_params
from drumbeat.campaigns.planning.template import check_same_placeholders
from drumbeat.campaigns.planning.template_set import rules_for
from drumbeat.engine.core.campaign_template import CampaignTemplate


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
    rules = replace(rules_for(spec, filled), params=found.columns)
    if spec.header is None:
        return Filling(filled, rules)
    media = HeaderMedia(templates[0].header_kind, spec.media_directory)
    if is_literal(spec.header) and not is_link(spec.header[1:]):
        require_header_file(media.kind, media.directory / spec.header[1:])
    return Filling(filled, replace(rules, params=(spec.header, *found.columns), media=media))
