"""A template as a person writes it in a form: checked here first, then made into what the service takes.

The checks are those that the service's review is known to make. What else the service refuses is shown at the
field that its words name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from drumbeat.campaigns.account.code_template import CodeForm
from drumbeat.engine.core.template.buttons import PLACEHOLDER
from drumbeat.engine.core.template.compiled import Media
from drumbeat.engine.core.template.placeholder import Placeholder
from drumbeat.engine.core.template.rendering import RenderedMessage, render_message

if TYPE_CHECKING:
    from drumbeat.engine.api.endpoints.templates import NewTemplate

AUTHENTICATION = "AUTHENTICATION"
CATEGORIES = ("MARKETING", "UTILITY", AUTHENTICATION)
TEXT = "TEXT"
HEADER_FORMATS = (TEXT, "IMAGE", "VIDEO", "DOCUMENT")
BUTTON_KINDS = ("QUICK_REPLY", "URL", "PHONE_NUMBER", "COPY_CODE", "FLOW", "CATALOG")
BUTTONS_MAX = 10  # the limit of the service
# The member that a button has beside its words, by its kind.
VALUE_MEMBERS = {"URL": "url", "PHONE_NUMBER": "phone_number", "COPY_CODE": "example", "FLOW": "flow_id"}
_NAME = re.compile(r"[a-z0-9_]{1,512}")
_LANGUAGE = re.compile(r"[a-z]{2,3}(_[A-Z]{2,3})?")
_NAMED = re.compile(r"[a-z][a-z0-9_]*")
# A word in the service's refusal, and the field that shows the refusal. The first that fits counts.
_FIELDS_NAMED = (
    (r"header", "header"),
    (r"footer", "footer"),
    (r"button|\burl\b|phone_number", "buttons"),
    (r"body|component|parameter_format|placeholder|variable", "body"),
    (r"categor", "category"),
    (r"\bname\b|exists", "name"),  # "exists in en_US" is about name and language together
    (r"language", "language"),
)


@dataclass(frozen=True, slots=True)
class FormButton:
    """A button of the form. `value` is the address, the phone, the code to copy, or the id of the flow."""

    kind: str
    text: str
    value: str


@dataclass(frozen=True, slots=True)
class TemplateForm:
    """The fields as they were typed. `header_sample` is a link to the picture, video or document that the
    reviewer sees, or the service's handle of it. If the category is AUTHENTICATION, only `code` counts.
    `examples` are by placeholder, such as "body 1".
    """

    name: str = ""
    language: str = ""
    category: str = CATEGORIES[0]
    header_format: str = TEXT
    header: str = ""
    header_sample: str = ""
    body: str = ""
    footer: str = ""
    buttons: tuple[FormButton, ...] = ()
    code: CodeForm = field(default_factory=CodeForm)
    examples: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_code(self) -> bool:
        return self.category == AUTHENTICATION

    @property
    def header_text(self) -> str:
        return self.header if self.header_format == TEXT else ""

    @property
    def wanted_examples(self) -> list[str]:
        """Return the placeholders that need an example, in their order."""
        if self.is_code:
            return []
        parts = [("header", self.header_text), ("body", self.body)]
        parts += [(f"button{index}", each.value) for index, each in self._links()]
        return [f"{part} {name}" for part, text in parts for name in names_in(text)]

    @property
    def is_named(self) -> bool:
        names = [*names_in(self.header_text), *names_in(self.body)]
        return bool(names) and not any(name.isdecimal() for name in names)

    def errors(self) -> dict[str, str]:
        """Return the error of each wrong field, as a word that texts explain."""
        found = {
            "name": "" if _NAME.fullmatch(self.name) else "name",
            "language": "" if _LANGUAGE.fullmatch(self.language) else "language",
            "category": "" if self.category in CATEGORIES else "category",
            **(self.code.errors() if self.is_code else self._part_errors()),
        }
        return {name: error for name, error in found.items() if error}

    def _part_errors(self) -> dict[str, str]:
        is_text = self.header_format == TEXT
        missing = [each for each in self.wanted_examples if not self.examples.get(each)]
        return {
            "body": _placeholder_error(self.body, is_named=self.is_named) or ("" if self.body else "empty"),
            "header_format": "" if self.header_format in HEADER_FORMATS else "header_format",
            "header": _placeholder_error(self.header_text, is_named=self.is_named),
            "header_sample": "" if is_text or self.header_sample else "header_sample",
            "footer": "footer" if names_in(self.footer) else "",
            "buttons": next(self._button_errors(), ""),
            **dict.fromkeys((f"example {each}" for each in missing), "example"),
        }

    def _button_errors(self) -> Iterator[str]:
        for button in self.buttons:
            if button.kind not in BUTTON_KINDS:
                yield "button_kind"
            if button.kind != "COPY_CODE" and not button.text:
                yield "button_text"
            if button.kind in VALUE_MEMBERS and not button.value:
                yield "button_value"
        if len(self.buttons) > BUTTONS_MAX:
            yield "button_many"

    def _links(self) -> list[tuple[int, FormButton]]:
        return [(index, each) for index, each in enumerate(self.buttons) if each.kind == "URL"]

    def components(self) -> list[dict[str, Any]]:
        """Return the components in the form that the service takes."""
        if self.is_code:
            return self.code.components()
        found: list[dict[str, Any]] = []
        if self.header_format != TEXT:
            sample = {"header_handle": [self.header_sample]}
            found.append({"type": "HEADER", "format": self.header_format, "example": sample})
        elif self.header:
            found.append({"type": "HEADER", "format": TEXT, "text": self.header, **self._example("header")})
        found.append({"type": "BODY", "text": self.body, **self._example("body")})
        if self.footer:
            found.append({"type": "FOOTER", "text": self.footer})
        if self.buttons:
            buttons = [self._button(index, each) for index, each in enumerate(self.buttons)]
            found.append({"type": "BUTTONS", "buttons": buttons})
        return found

    def _example(self, part: str) -> dict[str, Any]:
        names = names_in(self.header_text if part == "header" else self.body)
        values = [self.examples.get(f"{part} {name}", "") for name in names]
        if not names:
            return {}
        if self.is_named:
            pairs = zip(names, values, strict=True)
            named = [{"param_name": name, "example": value} for name, value in pairs]
            return {"example": {f"{part}_text_named_params": named}}
        return {"example": {f"{part}_text": values if part == "header" else [values]}}

    def _button(self, index: int, button: FormButton) -> dict[str, Any]:
        found = {"type": button.kind}
        if button.kind != "COPY_CODE":
            found["text"] = button.text
        if member := VALUE_MEMBERS.get(button.kind):
            found[member] = button.value
        examples = [self.examples.get(f"button{index} {name}", "") for name in names_in(button.value)]
        return {**found, "example": examples} if button.kind == "URL" and examples else found

    def new_template(self) -> NewTemplate:
        from drumbeat.engine.api.endpoints.templates import NewTemplate  # imports aiohttp

        form = "NAMED" if self.is_named else "POSITIONAL"
        return NewTemplate(self.name, self.language, self.category, self.components(), form)

    def preview(self) -> RenderedMessage:
        """Return the message with the examples in place. A placeholder without an example stays as it is."""
        if self.is_code:
            return self.code.preview()
        given = {
            Placeholder(key.partition(" ")[0], key.partition(" ")[2]): value
            for key, value in self.examples.items()
            if value and key.startswith(("header ", "body "))
        }
        sample = Media(link=self.header_sample)
        return render_message(self.components(), list(given), list(given.values()), sample)

    def field_of_refusal(self, words: str) -> str | None:
        """Return the field that the service's words are about; None if they name none that the form shows."""
        named = (name for pattern, name in _FIELDS_NAMED if re.search(pattern, words, re.IGNORECASE))
        field_named = next(named, None)
        if self.is_code:
            fields_of_codes = {"buttons": "code_button", "footer": "expires_min"}
            shown = ("name", "language", "category")
            return fields_of_codes.get(field_named or "", field_named if field_named in shown else None)
        is_sample = field_named == "header" and self.header_format != TEXT
        return "header_sample" if is_sample else field_named


def names_in(text: str) -> list[str]:
    """Return the placeholders of a text, each once; numbers in their order."""
    found = list(dict.fromkeys(PLACEHOLDER.findall(text)))
    return sorted(found, key=int) if all(name.isascii() and name.isdecimal() for name in found) else found


def _placeholder_error(text: str, *, is_named: bool) -> str:
    names = names_in(text)
    if is_named:
        return "" if all(map(_NAMED.fullmatch, names)) else "placeholder_name"
    numbers = [str(number) for number in range(1, len(names) + 1)]
    return "" if names == numbers else "placeholder_number"
