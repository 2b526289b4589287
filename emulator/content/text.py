"""The plain text message."""

from typing import Any

from drumbeat.emulator.content.rules import MediaKinds, text_of
from drumbeat.emulator.errors import Refused

BODY_LIMIT_CHARACTERS = 4096


def check_text(content: dict[str, Any], _media: MediaKinds) -> None:
    """Check `{"body": str, "preview_url"?: bool}`."""
    text_of(content, "body", "text", BODY_LIMIT_CHARACTERS)
    if not isinstance(content.get("preview_url", False), bool):
        raise Refused(131009, "text.preview_url is true or false")
