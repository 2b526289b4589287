"""The form of a new template that begins as one of the account is: in another language, or corrected.

The interface has no change of a template.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from drumbeat.campaigns.account.code_template import CodeForm
from drumbeat.campaigns.account.template_form import (
    BUTTON_KINDS,
    CATEGORIES,
    HEADER_FORMATS,
    VALUE_MEMBERS,
    FormButton,
    TemplateForm,
    names_in,
)
from drumbeat.campaigns.account.templates import StoredTemplate

_NUMBERED = re.compile(r"(.+)_(\d{1,4})")


def in_another_language(stored: StoredTemplate) -> TemplateForm:
    """Return a form with the same name, for which the language is still to be chosen."""
    return replace(_form_like(stored), language="")


def corrected(stored: StoredTemplate) -> TemplateForm:
    """Return a form with the same language and the next name: a name is taken once for a language."""
    return replace(_form_like(stored), name=next_name(stored.name))


def next_name(name: str) -> str:
    found = _NUMBERED.fullmatch(name)
    return f"{found[1]}_{int(found[2]) + 1}" if found else f"{name}_2"


def _form_like(stored: StoredTemplate) -> TemplateForm:
    parts = {str(part.get("type", "")).upper(): part for part in stored.definition.get("components") or ()}
    header, body = parts.get("HEADER", {}), parts.get("BODY", {})
    footer = parts.get("FOOTER", {})
    listed = parts.get("BUTTONS", {}).get("buttons") or ()
    kept = [each for each in listed if str(each.get("type", "")).upper() in BUTTON_KINDS]
    form = str(header.get("format") or "TEXT").upper()
    return TemplateForm(
        name=stored.name,
        language=stored.language,
        category=stored.category if stored.category in CATEGORIES else CATEGORIES[0],
        header=str(header.get("text") or ""),
        header_format=form if form in HEADER_FORMATS else HEADER_FORMATS[0],
        header_sample=_first(_member(header.get("example"), "header_handle")),
        body=str(body.get("text") or ""),
        footer=str(footer.get("text") or ""),
        buttons=tuple(map(_button, kept)),
        code=CodeForm(
            warns=bool(body.get("add_security_recommendation", True)),
            expires_min=str(footer.get("code_expiration_minutes") or ""),
            button=str(listed[0].get("text") or "") if listed else "",
        ),
        examples=examples_of(stored.definition)
        | {
            f"button{index} {name}": _first(button.get("example"))
            for index, button in enumerate(kept)
            for name in names_in(str(button.get("url") or ""))
        },
    )


def examples_of(definition: Mapping[str, Any]) -> dict[str, str]:
    """Return the examples of the header's and the body's placeholders, by keys such as "body 1"."""
    found: dict[str, str] = {}
    for component in definition.get("components") or ():
        if (part := str(component.get("type", "")).lower()) in ("header", "body"):
            found |= _examples(part, component)
    return found


def _button(button: Mapping[str, Any]) -> FormButton:
    kind = str(button["type"]).upper()
    value = button.get(VALUE_MEMBERS.get(kind, ""), "")
    return FormButton(kind, str(button.get("text") or ""), _first(value))


def _examples(part: str, component: Mapping[str, Any]) -> dict[str, str]:
    """Return the examples of a component by the keys of the form, such as "body 1"."""
    named = _member(component.get("example"), f"{part}_text_named_params")
    if isinstance(named, list):
        pairs = [(each.get("param_name"), each.get("example")) for each in named if isinstance(each, dict)]
        return {f"{part} {name}": str(value) for name, value in pairs if name and value}
    row = _member(component.get("example"), f"{part}_text")
    while isinstance(row, list) and row and isinstance(row[0], list):
        row = row[0]
    values = row if isinstance(row, list) else []
    names = names_in(str(component.get("text") or ""))
    return {f"{part} {name}": str(value) for name, value in zip(names, values, strict=False)}


def _member(example: object, name: str) -> object:
    return example.get(name) if isinstance(example, Mapping) else None


def _first(value: object) -> str:
    """Return a text, or the first of an array. Services list an example in either form."""
    if isinstance(value, str):
        return value
    return str(value[0]) if isinstance(value, Sequence) and value else ""
