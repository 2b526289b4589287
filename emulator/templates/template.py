"""One template, and the parameters that a send must have for it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

CATEGORIES = ("MARKETING", "UTILITY", "AUTHENTICATION")
STATUSES = ("PENDING", "APPROVED", "REJECTED", "PAUSED", "DISABLED")
MEDIA_FORMATS = ("IMAGE", "VIDEO", "DOCUMENT")

_PLACEHOLDER = re.compile(r"\{\{\s*(\w+)\s*\}\}")

Component = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Needs:
    """What a send must fill. Placeholders are listed once each, numbers in their order, names as they appear.

    `buttons` maps a button's index to what fills it (`url`); quick replies may be filled but need not be.
    """

    body: tuple[str, ...] = ()
    header: tuple[str, ...] = ()
    header_media: str | None = None
    buttons: Mapping[str, str] = field(default_factory=dict)
    replies: frozenset[str] = frozenset()
    named: bool = False


@dataclass(slots=True)
class Template:
    """Name and language together are the key within an account."""

    id: str
    name: str
    language: str
    category: str
    components: Sequence[Component]
    status: str = "PENDING"
    parameter_format: str = "POSITIONAL"
    reason: str = "NONE"
    needs: Needs = field(init=False)
    # The template has only positional parameters of the body, which the send path checks in a shorter way.
    body_alone: bool = field(init=False)

    def __post_init__(self) -> None:
        self.needs = needs_of(self.components, named=self.parameter_format == "NAMED")
        needs = self.needs
        self.body_alone = not (needs.header or needs.header_media or needs.buttons or needs.named)

    def record(self) -> dict[str, Any]:
        """The template as the list shows it."""
        return {
            "id": self.id,
            "name": self.name,
            "language": self.language,
            "status": self.status,
            "category": self.category,
            "parameter_format": self.parameter_format,
            "components": list(self.components),
        }

    def bubble(self, values: Sequence[Any]) -> dict[str, Any]:
        """How it looks on a phone, the body filled with `values`."""
        by_type = {str(component.get("type", "")).upper(): component for component in self.components}
        header = by_type.get("HEADER", {})
        named = dict(zip(self.needs.body, map(str, values), strict=False))
        body = _PLACEHOLDER.sub(
            lambda found: named.get(found.group(1), found.group()), by_type.get("BODY", {}).get("text", "")
        )
        return {
            "header": header.get("text") or str(header.get("format", "")).lower(),
            "body": body,
            "footer": by_type.get("FOOTER", {}).get("text", ""),
            "buttons": [button.get("text", "") for button in by_type.get("BUTTONS", {}).get("buttons", [])],
        }

    def announcement(self) -> dict[str, Any]:
        """The event that announces its status (open point)."""
        return {
            "event": self.status,
            "message_template_id": int(self.id),
            "message_template_name": self.name,
            "message_template_language": self.language,
            "reason": self.reason,
        }


def placeholders(text: str) -> tuple[str, ...]:
    """The placeholders of a text, each once: `Hi {{1}}, {{2}}` gives `("1", "2")`."""
    return tuple(dict.fromkeys(_PLACEHOLDER.findall(text)))


def _in_order(names: tuple[str, ...], *, named: bool) -> tuple[str, ...]:
    """In the order of the parameters of a send: by number, 10 after 9, or as they appear if named."""
    return names if named else tuple(sorted(names, key=lambda name: (len(name), name)))


def lacking_example(template: Template) -> bool:
    """Whether a variable has no example, for which the review rejects a template."""
    for component in template.components:
        example = component.get("example")
        example = example if isinstance(example, dict) else {}
        wanted = len(placeholders(str(component.get("text", ""))))
        kind = component.get("type")
        if kind == "BODY" and wanted and wanted != _examples(example, "body_text"):
            return True
        if kind == "HEADER" and wanted and wanted != _examples(example, "header_text"):
            return True
        if kind == "HEADER" and component.get("format") in MEDIA_FORMATS and not example.get("header_handle"):
            return True
        if kind == "BUTTONS" and any(
            placeholders(str(button.get("url", ""))) and not button.get("example")
            for button in component["buttons"]
        ):
            return True
    return False


def _examples(example: Component, name: str) -> int:
    """How many variables have an example: rows of texts, a row of texts, or named ones."""
    named = example.get(f"{name}_named_params")
    if isinstance(named, list):
        return len([each for each in named if isinstance(each, dict) and each.get("example")])
    rows = example.get(name)
    row = rows[0] if isinstance(rows, list) and rows and isinstance(rows[0], list) else rows
    return len([each for each in row if isinstance(each, str) and each]) if isinstance(row, list) else 0


def needs_of(components: Sequence[Component], *, named: bool) -> Needs:
    """The parameters that a send of these components must have."""
    by_type = {str(component.get("type", "")).upper(): component for component in components}
    header = by_type.get("HEADER", {})
    header_format = str(header.get("format", "TEXT")).upper()
    buttons = by_type.get("BUTTONS", {}).get("buttons", [])
    return Needs(
        body=_in_order(placeholders(by_type.get("BODY", {}).get("text", "")), named=named),
        header=placeholders(header.get("text", "")) if header_format == "TEXT" else (),
        header_media=header_format.lower() if header_format in MEDIA_FORMATS else None,
        buttons={
            str(index): "url"
            for index, button in enumerate(buttons)
            if button.get("type") == "URL" and placeholders(button.get("url", ""))
        },
        replies=frozenset(str(i) for i, button in enumerate(buttons) if button.get("type") == "QUICK_REPLY"),
        named=named,
    )
