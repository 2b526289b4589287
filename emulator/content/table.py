"""The table of free-form message types: each names its member of the request and checks it."""

from collections.abc import Callable
from typing import Any

from drumbeat.emulator.content.interactive import check_interactive
from drumbeat.emulator.content.media import check_media
from drumbeat.emulator.content.rules import MediaKinds
from drumbeat.emulator.content.small import check_contacts, check_location, check_reaction
from drumbeat.emulator.content.text import check_text
from drumbeat.emulator.errors import Refused

Check = Callable[[dict[str, Any], MediaKinds], None]

MEDIA_TYPES = ("image", "video", "audio", "document", "sticker")
# The types that a customer may send. Each has an object of its own name.
INCOMING_TYPES = (
    "text", *MEDIA_TYPES, "interactive", "button", "reaction", "location", "contacts", "order", "system",
    "unsupported",
)  # fmt: skip
CHECKS: dict[str, Check] = {
    "text": check_text,
    **{kind: check_media(kind) for kind in MEDIA_TYPES},
    "interactive": check_interactive,
    "reaction": check_reaction,
    "location": check_location,
    "contacts": check_contacts,
}


def check_content(kind: object, message: dict[str, Any], media: MediaKinds) -> Any:
    """Return the content of a free-form message if it keeps the rules of its type, else raise `Refused`."""
    check = CHECKS.get(kind) if isinstance(kind, str) else None
    if check is None:
        raise Refused(131051, f"type is template, {', '.join(CHECKS)}, not {kind!r}")
    assert isinstance(kind, str)
    content = message.get(kind)
    if content is None:
        raise Refused(131008, f"{kind} is required for type {kind}")
    if kind == "contacts":
        check({"contacts": content}, media)
        return content
    if not isinstance(content, dict):
        raise Refused(131009, f"{kind} is an object")
    check(content, media)
    return content
