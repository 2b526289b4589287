"""The templates of one campaign, and the languages of rows that none of them has. The first is for whoever
names no other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.options.variants import Variant
from drumbeat.campaigns.planning.checked.template import (
    check_header,
    load_template,
    other_languages,
)
from drumbeat.campaigns.pluralise import pluralise
from drumbeat.engine.core.template.campaign_template import CampaignTemplate
from drumbeat.engine.errors import ConfigurationError
from drumbeat.engine.store.database import Connection

EMPTY = "(empty)"  # shown for a cell without a language


async def load_templates(
    connection: Connection, spec: CampaignSpec, *, database: str
) -> list[CampaignTemplate]:
    """Return the templates that the options ask for. Their headers are checked against the options.

    Raise ConfigurationError for a template that cannot be sent, and UsageError for options that do not fit.
    """
    templates = await _load(connection, spec, database)
    for template in templates:
        check_header(template)
    return templates


async def _load(connection: Connection, spec: CampaignSpec, database: str) -> list[CampaignTemplate]:
    if spec.message is not None:
        return [CampaignTemplate(spec.first_template, spec.language, {}, None, spec.message)]
    variants = spec.variants or (Variant("", spec.first_template),)
    found = [await _languages(connection, spec, variant, database) for variant in variants]
    in_all = [language for language in found[0] if all(language in languages for languages in found)]
    return [languages[language] for languages in found for language in in_all]


async def _languages(
    connection: Connection, spec: CampaignSpec, variant: Variant, database: str
) -> dict[str, CampaignTemplate]:
    """Return the templates of a variant by language, the fallback first."""
    first = await load_template(
        connection, variant.template, spec.language, spec.header_media, database=database
    )
    others = [] if spec.language_column is None else await other_languages(connection, first)
    return {each.language: replace(each, variant=variant.name) for each in (first, *others)}


def with_recipients(
    templates: Sequence[CampaignTemplate], by_template: Mapping[int, int]
) -> list[CampaignTemplate]:
    """Return the templates with the number of recipients of each. A template that is alone stays as it is."""
    if len(templates) == 1:
        return list(templates)
    return [
        replace(template, recipients=by_template.get(index, 0)) for index, template in enumerate(templates)
    ]


def unmatched_text(unmatched: Mapping[str, int]) -> str:
    """Return the languages that no template has, the most frequent first: `fr 12, (empty) 3`."""
    ordered = sorted(unmatched.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{value or EMPTY} {count:,}" for value, count in ordered)


def check_languages(spec: CampaignSpec, unmatched: Mapping[str, int]) -> None:
    """Raise ConfigurationError if `strict_language` is given and rows name no language of a template."""
    if spec.strict_language and unmatched:
        rows = pluralise(sum(unmatched.values()), "row names", "rows name")
        raise ConfigurationError(
            f"{rows} no language of the template, and {{strict_language}} allows none: {{unmatched}}",
            where=f"{spec.audience_name}, column {spec.language_column}",
            remedy="correct the cells, or add the languages to the template",
            values={"unmatched": unmatched_text(unmatched)},
        )
