"""The words of a message that a person wrote."""

from collections.abc import Iterator, Mapping
from typing import Any

from drumbeat.engine.core.limits.opt_out import CAPTIONED, EDIT
from drumbeat.engine.core.sanitise import sanitise

TEXT_CHARACTERS_MAX = 500  # so much of a message is shown; the database keeps all of it


def reply_text(body: Mapping[str, Any]) -> str:
    """Return the text, the button or the caption; empty for other types. `body` is the raw message."""
    text = next((found for found in _texts(body) if isinstance(found, str) and found), "")
    return sanitise(text)[:TEXT_CHARACTERS_MAX]


def _texts(body: Mapping[str, Any]) -> Iterator[Any]:
    for part, field in (
        ("text", "body"),
        ("button", "text"),
        ("reaction", "emoji"),
        *((kind, "caption") for kind in CAPTIONED),
    ):
        if isinstance(body.get(part), dict):
            yield body[part].get(field)
    edited = body.get(EDIT)
    if isinstance(edited, dict) and isinstance(edited.get("message"), dict) and EDIT not in edited["message"]:
        yield from _texts(edited["message"])
    interactive = body.get("interactive")
    for part in ("button_reply", "list_reply"):
        if isinstance(interactive, dict) and isinstance(interactive.get(part), dict):
            yield interactive[part].get("title")
