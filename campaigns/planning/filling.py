"""What fills a campaign's template: its optional buttons, and a column or fixed text for each variable."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from campaigns.audience.header_media import HeaderMedia, is_link
from campaigns.audience.row_check import RowRules, is_literal
from campaigns.planning.header_files import require_header_file
from campaigns.planning.params import read_params
from campaigns.planning.spec import CampaignSpec
from engine.core.campaign_template import CampaignTemplate


class Filling(NamedTuple):
    """The template as its messages fill it, and the rules of the rows that do."""

    template: CampaignTemplate
    rules: RowRules


def fill(spec: CampaignSpec, template: CampaignTemplate, header: Sequence[str]) -> Filling:
    """`header`: the columns of the audience. UsageError for a placeholder that nothing fills, and as
    `read_params` does.
    """
    found = read_params(template, spec.params, [*header, *spec.mapped])
    rules = replace(spec.rules, params=found.columns)
    if spec.header is not None:
        media = HeaderMedia(template.header_kind, spec.media_directory)
        rules = replace(rules, params=(spec.header, *found.columns), media=media)
        if is_literal(spec.header) and not is_link(spec.header[1:]):
            require_header_file(media.kind, media.directory / spec.header[1:])
    return Filling(template.filled(found.buttons), rules)
