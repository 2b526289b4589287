"""What a person chooses in the step "message": the fields of its form, and the choices that they become."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from campaigns.account.templates import StoredTemplate
from campaigns.audience.glimpse import Glimpse, guess_language_column, guess_params
from campaigns.console.api.create_request import HEADER_SOURCES
from campaigns.planning.template import SENDABLE_STATUS, placeholders_of
from engine.core.campaign_template import CampaignTemplate
from engine.core.placeholder import MEDIA, Placeholder
from engine.core.placeholder_changes import placeholder_differences
from engine.errors import ConfigurationError

COLUMN, TEXT, NOTHING = "column", "text", "nothing"  # what fills a placeholder; nothing: of optional buttons
# Choices that belong to one template, and end with it.
OF_A_TEMPLATE = (
    "param",
    "variant",
    "experiment",
    "language_column",
    "strict_language",
    "header_column",
    "header_link",
    "header_media_id",
    "header_filename",
    "header",
)


@dataclass(frozen=True, slots=True)
class Slot:
    """One placeholder as the form shows it. `kind`: what fills it; `empty`: the text for empty cells."""

    placeholder: Placeholder
    is_optional: bool
    kind: str
    column: str = ""
    text: str = ""
    empty: str = ""

    @property
    def word(self) -> str:
        return self.placeholder.word

    def with_some_text(self) -> Slot:
        """The same slot; a text that is not typed yet is the placeholder itself."""
        if self.kind != TEXT or self.text:
            return self
        return replace(self, text=f"{{{{{self.placeholder.name}}}}}")

    @property
    def param(self) -> str | None:
        """As `--param` takes it; None if nothing fills it."""
        if self.kind == COLUMN and self.column:
            return f"{self.word}:{self.column}"
        return f"{self.word}:={self.text}" if self.kind == TEXT else None


def template_of(stored: Sequence[StoredTemplate], name: str, language: str) -> CampaignTemplate | None:
    """The approved template with this name and language."""
    for each in stored:
        if (each.name, each.language, each.status) == (name, language, SENDABLE_STATUS):
            return CampaignTemplate(each.name, each.language, each.definition, None)
    return None


def languages_of(stored: Sequence[StoredTemplate], name: str) -> list[str]:
    return [each.language for each in stored if each.name == name and each.status == SENDABLE_STATUS]


def with_guessed_language(
    choices: Mapping[str, Any], stored: Sequence[StoredTemplate], seen: Glimpse
) -> dict[str, Any]:
    """The choices with a column of languages, if nobody saw the form of this template yet."""
    languages = languages_of(stored, str(choices.get("template", "")))
    if "param" in choices or len(languages) < 2:  # a saved form names its params, also if there are none
        return dict(choices)
    return {**choices, "language_column": guess_language_column(seen, languages)}


def comparable(stored: Sequence[StoredTemplate], chosen: CampaignTemplate) -> list[str]:
    """Templates that can be variants beside the chosen one: of its language, with the same placeholders."""
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
    """Those of a template that cannot be sent are none that fit."""
    try:
        return placeholders_of(template)
    except ConfigurationError:
        return (Placeholder("", ""),)


def slots_of(
    template: CampaignTemplate, choices: Mapping[str, Any], seen: Glimpse, phone_column: str
) -> list[Slot]:
    """A slot for each word. What nobody chose yet is guessed by the names of the columns."""
    required = {each.word: each for each in placeholders_of(template) if each.component != MEDIA}
    guessed = dict(
        zip(required, guess_params(seen.columns, list(required.values()), phone_column), strict=True)
    )
    optional = template.optional_buttons()
    given = _given(choices.get("param", ()), [*required, *(each.word for each in optional)])
    defaults = choices.get("default", {})
    found = [
        _slot(placeholder, is_optional=False, given=given.get(word, guessed[word] or "="), defaults=defaults)
        for word, placeholder in required.items()
    ]
    return found + [
        _slot(placeholder, is_optional=True, given=given.get(placeholder.word), defaults=defaults)
        for placeholder in optional
    ]


def _given(params: Sequence[str], words: Sequence[str]) -> dict[str, str]:
    """What fills each word. Another program, or the campaign that this one is like, may have given params in
    order.
    """
    named = {word: filled for word, _, filled in (param.partition(":") for param in params) if word in words}
    return named or dict(zip(words, params, strict=False))


def _slot(
    placeholder: Placeholder, *, is_optional: bool, given: str | None, defaults: Mapping[str, str]
) -> Slot:
    if given is None:
        return Slot(placeholder, is_optional, NOTHING)
    if given.startswith("="):
        return Slot(placeholder, is_optional, TEXT, text=given[1:])
    return Slot(placeholder, is_optional, COLUMN, column=given, empty=defaults.get(given, ""))


def chosen_slots(slots: Sequence[Slot], fields: Any) -> list[Slot]:
    """The slots as a form filled them. A source is `column:NAME`, `text` or `nothing`."""
    return [_chosen_slot(slot, fields) if f"source.{slot.word}" in fields else slot for slot in slots]


def _chosen_slot(slot: Slot, fields: Any) -> Slot:
    kind, _, column = str(fields[f"source.{slot.word}"]).partition(":")
    text, empty = (str(fields.get(f"{name}.{slot.word}", "")).strip() for name in ("text", "empty"))
    return Slot(slot.placeholder, slot.is_optional, kind, column, text, empty)


def message_part(slots: Sequence[Slot], choices: Mapping[str, Any], fields: Any) -> dict[str, Any]:
    """The choices that a form of this step makes; None for what is not chosen any more."""
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
        "strict_language": True if language_column and "strict_language" in fields else None,
        "variant": variants or None,
        "experiment": (str(fields.get("experiment", "")).strip() or None) if variants else None,
        **_header(fields),
    }


def _variants(template: str, fields: Any) -> list[str]:
    """The chosen template and those to compare it with, each under its own name with its share."""
    others = [str(name) for name in fields.getall("variant", [])]
    if not others:
        return []
    weights = {name: str(fields.get(f"weight.{name}", "")).strip() or "1" for name in (template, *others)}
    return [f"{name}={name}:{weight}" for name, weight in weights.items()]


def _header(fields: Any) -> dict[str, str | None]:
    """Where the header's media come from. What was typed for another source is kept, and not used."""
    names = ("header", *HEADER_SOURCES.values(), "header_filename")
    return {name: str(fields.get(name, "")).strip() or None for name in names}
