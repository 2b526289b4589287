"""The rules that the options of a campaign set for each row."""

from collections.abc import Sequence
from dataclasses import replace

from drumbeat.campaigns.audience.check.row_rules import RowRules
from drumbeat.campaigns.audience.check.template_choice import TemplateChoice
from drumbeat.campaigns.options.audience_options import pairs
from drumbeat.campaigns.options.sources import CampaignResult
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.phones.kinds import Kind
from drumbeat.engine.core.template.campaign_template import CampaignTemplate
from drumbeat.engine.errors import UsageError


def rules_for(spec: CampaignSpec, templates: Sequence[CampaignTemplate]) -> RowRules:
    """Return the rules of `spec`, with the choice between the templates if there is one."""
    if spec.language_column is None and not spec.variants:
        return _spec_rules(spec)
    languages = tuple(dict.fromkeys(template.language for template in templates))
    weights = tuple(variant.weight for variant in spec.variants) or (1,)
    experiment = spec.name if spec.experiment is None else spec.experiment
    choice = TemplateChoice(languages, spec.language_column, experiment, weights, _meant(spec, languages))
    return replace(_spec_rules(spec), choice=choice)


def _meant(spec: CampaignSpec, languages: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return the languages that values mean. Raise UsageError for one that the campaign does not have."""
    meant = tuple(pairs("language_map", spec.language_map).items())
    for value, language in meant:
        if language not in languages:
            raise UsageError(
                '{language_map} "{value}={language}" names no language of the template',
                remedy="it has {languages}",
                values={"value": value, "language": language, "languages": ", ".join(languages)},
            )
    return meant


def _spec_rules(spec: CampaignSpec) -> RowRules:
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
        tuple(spec.repair_old or ()),
        corrections=spec.corrections,
        country_column=spec.country_column,
        first_number=spec.first_number,
        leave_out=frozenset(Kind(kind) for kind in spec.leave_out or ()),
        only_mobile=spec.only_mobile,
        keep_spaces=spec.keep_spaces,
        repairs=spec.repair,
        empties_words=spec.empty_words,
    )
