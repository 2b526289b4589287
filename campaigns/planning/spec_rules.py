"""The rules that the options of a campaign set for each row."""

from drumbeat.campaigns.audience.check.row_check import RowRules
from drumbeat.campaigns.options.sources import CampaignResult
from drumbeat.campaigns.options.spec import CampaignSpec


def spec_rules(spec: CampaignSpec) -> RowRules:
    """Return the rules of the rows. Stored people were read before, so no rule of a file applies to them."""
    if isinstance(spec.source, CampaignResult):
        return RowRules(params=tuple(spec.param or ()), is_stored=True)
    return file_rules(spec)


def file_rules(spec: CampaignSpec) -> RowRules:
    """Return the rules of files: of the audience, if it is one, and of those that `exclude` names."""
    return RowRules(
        spec.phone_column,
        tuple(spec.param or ()),
        spec.region,
        spec.mapped,
        spec.defaults,
        tuple(spec.as_mobile or ()),
        corrections=spec.corrections,
    )
