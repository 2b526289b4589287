"""The template, and the parameters that a send must have for it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from drumbeat.emulator.templates.lengths import (
    BODY_LIMIT_CHARACTERS,
    HEADER_LIMIT_CHARACTERS,
    URL_LIMIT_CHARACTERS,
    Room,
    room_of,
)
from drumbeat.emulator.templates.placeholders import PLACEHOLDER, placeholders

CATEGORIES = ("MARKETING", "UTILITY", "AUTHENTICATION")
STATUSES = ("PENDING", "APPROVED", "REJECTED", "PAUSED", "DISABLED", "IN_APPEAL", "PENDING_DELETION")
# What a template is after an event that is no status. A flagged one stays what it was (open point).
STATUS_AFTER_EVENT = {"FLAGGED": None, "REINSTATED": "APPROVED", "UNLOCKED": "APPROVED"}
QUALITY_SCORES = ("GREEN", "YELLOW", "RED", "UNKNOWN")
TEMPLATE_EVENTS = (*STATUSES, *STATUS_AFTER_EVENT)
MEDIA_FORMATS = ("IMAGE", "VIDEO", "DOCUMENT")
HEADER_FORMATS = ("TEXT", *MEDIA_FORMATS, "LOCATION")
# The value that fills a button on send (open point). A URL is filled only if it has a variable.
_REQUIRED_BUTTONS = {"URL": "url", "COPY_CODE": "copy_code", "OTP": "url"}
_OPTIONAL_BUTTONS = {"QUICK_REPLY": "quick_reply", "FLOW": "flow", "CATALOG": "catalog"}

Component = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Needs:
    """The parameters that a send must fill. Placeholders are listed once each, numbers in their order, names
    as they appear.

    `header_kind`: the kind of media of the header, or location. `buttons` maps a button's index to the value
    that must fill it (`url`, `copy_code`), `optional_buttons` to one that may. `url_rooms` are by the same
    index.
    """

    body: tuple[str, ...]
    header: tuple[str, ...]
    header_kind: str | None
    buttons: Mapping[str, str]
    optional_buttons: Mapping[str, str]
    named: bool
    body_room: Room
    header_room: Room
    url_rooms: Mapping[str, Room]


@dataclass(slots=True)
class Template:
    """A template. Name and language together are its key within an account.

    `rated_s`: the Unix time at which it got its quality.
    """

    id: str
    name: str
    language: str
    category: str
    components: Sequence[Component]
    status: str = "PENDING"
    parameter_format: str = "POSITIONAL"
    reason: str = "NONE"
    quality: str = "UNKNOWN"
    rated_s: int = 0
    needs: Needs = field(init=False)
    # The template has only positional parameters of the body, which the send path checks in a shorter way.
    body_alone: bool = field(init=False)

    def __post_init__(self) -> None:
        self.needs = needs_of(self.components, named=self.parameter_format == "NAMED")
        needs = self.needs
        self.body_alone = not (needs.header or needs.header_kind or needs.buttons or needs.named)

    def record(self, fields: str | None = None) -> dict[str, Any]:
        """Return the template as the list shows it. The quality comes only if the `fields` of a query
        name it.
        """
        is_asked = "quality_score" in (fields or "")
        score = {"score": self.quality, "date": self.rated_s}
        return {
            **({"quality_score": score} if is_asked else {}),
            "id": self.id,
            "name": self.name,
            "language": self.language,
            "status": self.status,
            "category": self.category,
            "parameter_format": self.parameter_format,
            "components": list(self.components),
        }

    def bubble(self, values: Sequence[Any]) -> dict[str, Any]:
        """Return the template as a phone shows it, with the body filled with `values`."""
        by_type = {str(component.get("type", "")).upper(): component for component in self.components}
        header = by_type.get("HEADER", {})
        named = dict(zip(self.needs.body, map(str, values), strict=False))
        body = PLACEHOLDER.sub(
            lambda found: named.get(found.group(1), found.group()), by_type.get("BODY", {}).get("text", "")
        )
        return {
            "header": header.get("text") or str(header.get("format", "")).lower(),
            "body": body,
            "footer": by_type.get("FOOTER", {}).get("text", ""),
            "buttons": [button.get("text", "") for button in by_type.get("BUTTONS", {}).get("buttons", [])],
        }

    def announcement(self, **change: Any) -> dict[str, Any]:
        """Return an event about the template (open point)."""
        return {
            **change,
            "message_template_id": int(self.id),
            "message_template_name": self.name,
            "message_template_language": self.language,
        }


def _in_order(names: tuple[str, ...], *, named: bool) -> tuple[str, ...]:
    """Return the names in the order of the parameters of a send: by number, 10 after 9, or as they appear if
    named.
    """
    return names if named else tuple(sorted(names, key=lambda name: (len(name), name)))


def needs_of(components: Sequence[Component], *, named: bool) -> Needs:
    """Return the parameters that a send of these components must have."""
    by_type = {str(component.get("type", "")).upper(): component for component in components}
    header = by_type.get("HEADER", {})
    header_format = str(header.get("format", "TEXT")).upper()
    header_text = header.get("text", "") if header_format == "TEXT" else ""
    body_text = by_type.get("BODY", {}).get("text", "")
    body, header_names = _in_order(placeholders(body_text), named=named), placeholders(header_text)
    buttons = by_type.get("BUTTONS", {}).get("buttons", [])
    return Needs(
        body=body,
        header=header_names,
        header_kind=header_format.lower() if header_format != "TEXT" else None,
        buttons=_filled_by(_REQUIRED_BUTTONS, buttons),
        optional_buttons=_filled_by(_OPTIONAL_BUTTONS, buttons),
        named=named,
        body_room=room_of(body_text, body, BODY_LIMIT_CHARACTERS),
        header_room=room_of(header_text, header_names, HEADER_LIMIT_CHARACTERS),
        url_rooms={
            str(index): room_of(url, placeholders(url)[:1], URL_LIMIT_CHARACTERS)
            for index, button in enumerate(buttons)
            if placeholders(url := str(button.get("url", "")))
        },
    )


def _filled_by(kinds: Mapping[str, str], buttons: Sequence[Component]) -> dict[str, str]:
    """Return the kind of value that fills each button of these kinds, by the button's index."""
    return {
        str(index): kinds[button["type"]]
        for index, button in enumerate(buttons)
        if button.get("type") in kinds and (button["type"] != "URL" or placeholders(button.get("url", "")))
    }
