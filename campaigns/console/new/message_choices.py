"""The choices of the step "message": the fields of its form, and the members of a request that they
become.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drumbeat.campaigns.account.template_like import examples_of
from drumbeat.campaigns.account.templates import StoredTemplate
from drumbeat.campaigns.audience.check.columns import has_column
from drumbeat.campaigns.audience.check.glimpse import Glimpse, guess_language_column, guess_params
from drumbeat.campaigns.console.new.create_request import HEADER_SOURCES
from drumbeat.campaigns.console.new.language_values import language_map
from drumbeat.campaigns.planning.checked.template import SENDABLE_STATUS, placeholders_of
from drumbeat.engine.core.template.campaign_template import CampaignTemplate
from drumbeat.engine.core.template.placeholder import MEDIA, Placeholder
from drumbeat.engine.core.template.placeholder_changes import placeholder_differences
from drumbeat.engine.errors import ConfigurationError

# The sources of a placeholder's value. Only optional buttons have NOTHING. UNSET: a person has to choose.
COLUMN, TEXT, NOTHING, UNSET = "column", "text", "nothing", ""
# Choices that belong to one template, and end with it.
OF_A_TEMPLATE = (
    "param",
    "variant",
    "experiment",
    "language_column",
    "language_map",
    "strict_language",
    "header_column",
    "header_link",
    "header_media_id",
    "header_filename",
    "header",
)


@dataclass(frozen=True, slots=True)
class Slot:
    """One placeholder as the form shows it. `kind`: the source of its value. `empty`: the text for empty
    cells. `is_missing`: the list does not have the column.
    """

    placeholder: Placeholder
    is_optional: bool
    kind: str
    column: str = ""
    text: str = ""
    empty: str = ""
    is_missing: bool = False

    @property
    def is_unset(self) -> bool:
        return self.kind == UNSET or self.is_missing

    @property
    def word(self) -> str:
        return self.placeholder.word

    def with_some_text(self) -> Slot:
        """Return the same slot. If nobody chose or typed a value yet, it is filled with the placeholder
        itself.
        """
        if self.is_unset or (self.kind == TEXT and not self.text):
            return Slot(self.placeholder, self.is_optional, TEXT, text=f"{{{{{self.placeholder.name}}}}}")
        return self

    @property
    def param(self) -> str | None:
        """Return the slot as `param` takes it, or None if nothing fills it."""
        if self.kind == COLUMN and self.column:
            return f"{self.word}:{self.column}"
        return f"{self.word}:={self.text}" if self.kind == TEXT else None


def template_of(stored: Sequence[StoredTemplate], name: str, language: str) -> CampaignTemplate | None:
    """Return the approved template with this name and language."""
    for each in stored:
        if (each.name, each.language, each.status) == (name, language, SENDABLE_STATUS):
            return CampaignTemplate(each.name, each.language, each.definition, None)
    return None


def languages_of(stored: Sequence[StoredTemplate], name: str) -> list[str]:
    return [each.language for each in stored if each.name == name and each.status == SENDABLE_STATUS]


def with_guessed_language(
    choices: Mapping[str, Any], stored: Sequence[StoredTemplate], seen: Glimpse
) -> dict[str, Any]:
    """Return the choices with a column of languages, if nobody saw the form of this template yet."""
    languages = languages_of(stored, str(choices.get("template", "")))
    if "param" in choices or len(languages) < 2:  # a saved form names its params, also if there are none
        return dict(choices)
    return {**choices, "language_column": guess_language_column(seen, languages)}


def comparable(stored: Sequence[StoredTemplate], chosen: CampaignTemplate) -> list[str]:
    """Return the templates that can be variants beside the chosen one: same language, same placeholders."""
    wanted = placeholders_of(chosen)
    return [
        each.name
        for each in stored
        if each.name != chosen.name
        and (other := template_of(stored, each.name, chosen.language)) is not None
        and each.language == chosen.language
        and other.header_kind == chosen.header_kind
        and not placeholder_differences(wanted, _placeholders(other))
    ]


def _placeholders(template: CampaignTemplate) -> tuple[Placeholder, ...]:
    """Return the placeholders of a template. A template that cannot be sent fits no other one."""
    try:
        return placeholders_of(template)
    except ConfigurationError:
        return (Placeholder("", ""),)


def slots_of(
    template: CampaignTemplate, choices: Mapping[str, Any], seen: Glimpse, phone_column: str
) -> list[Slot]:
    """Return a slot for each word. If nobody saw the form of this template yet, columns are guessed."""
    required = {each.word: each for each in placeholders_of(template) if each.component != MEDIA}
    optional = {each.word: each for each in template.optional_buttons()}
    if "param" in choices:
        given = _given(choices["param"], [*required, *optional])
    else:
        others = (phone_column, str(choices.get("language_column", "")))
        examples = examples_of(template.definition)
        given = dict(
            zip(required, guess_params(seen, list(required.values()), examples, others), strict=True)
        )
    return [
        _slot(placeholder, word in optional, given.get(word, ""), choices, seen.columns)
        for word, placeholder in (required | optional).items()
    ]


def _given(params: Sequence[str], words: Sequence[str]) -> dict[str, str]:
    """Return the source of each word. The params may be in order, without words, if another program or the
    original of a copied campaign gave them.
    """
    named = {word: filled for word, _, filled in (param.partition(":") for param in params) if word in words}
    return named or dict(zip(words, params, strict=False))


def _slot(
    placeholder: Placeholder,
    is_optional: bool,
    given: str,
    choices: Mapping[str, Any],
    columns: Sequence[str],
) -> Slot:
    if not given:
        return Slot(placeholder, is_optional, NOTHING if is_optional else UNSET)
    if given.startswith("="):
        return Slot(placeholder, is_optional, TEXT, text=given[1:])
    is_missing = not has_column(columns, choices.get("map", {}).get(given, given))
    empty = choices.get("default", {}).get(given, "")
    return Slot(placeholder, is_optional, COLUMN, column=given, empty=empty, is_missing=is_missing)


def chosen_slots(slots: Sequence[Slot], fields: Any) -> list[Slot]:
    """Return the slots as a form filled them. A source is `column:NAME`, `text` or `nothing`."""
    return [_chosen_slot(slot, fields) if f"source.{slot.word}" in fields else slot for slot in slots]


def _chosen_slot(slot: Slot, fields: Any) -> Slot:
    kind, _, column = str(fields[f"source.{slot.word}"]).partition(":")
    text, empty = (str(fields.get(f"{name}.{slot.word}", "")).strip() for name in ("text", "empty"))
    return Slot(slot.placeholder, slot.is_optional, kind, column, text, empty)


def message_part(slots: Sequence[Slot], choices: Mapping[str, Any], fields: Any) -> dict[str, Any]:
    """Return the choices that a form of this step makes. None marks a choice that is taken back."""
    defaults = dict(choices.get("default", {}))
    for slot in slots:
        if slot.kind == COLUMN:
            defaults.pop(slot.column, None)
    defaults |= {slot.column: slot.empty for slot in slots if slot.kind == COLUMN and slot.empty}
    language_column = str(fields.get("language_column", "")) or None
    variants = _variants(str(choices.get("template", "")), fields)
    return {
        "param": [slot.param for slot in slots if slot.param is not None],
        "default": defaults or None,
        "language": str(fields.get("language", "")) or choices.get("language"),
        "language_column": language_column,
        "language_map": language_map(choices, language_column, fields),
        "strict_language": True if language_column and "strict_language" in fields else None,
        "variant": variants or None,
        "experiment": (str(fields.get("experiment", "")).strip() or None) if variants else None,
        **_header(fields),
    }


def _variants(template: str, fields: Any) -> list[str]:
    """Return the chosen template and those to compare it with, each under its own name with its share."""
    others = [str(name) for name in fields.getall("variant", [])]
    if not others:
        return []
    weights = {name: str(fields.get(f"weight.{name}", "")).strip() or "1" for name in (template, *others)}
    return [f"{name}={name}:{weight}" for name, weight in weights.items()]


def _header(fields: Any) -> dict[str, str | None]:
    """Return the source of the header's media. Texts that were typed for another source are kept, and not
    used.
    """
    names = ("header", *HEADER_SOURCES.values(), "header_filename")
    return {name: str(fields.get(name, "")).strip() or None for name in names}
