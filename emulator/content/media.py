"""The messages that are a file: by the id of an upload, or by a public HTTPS link."""

from collections.abc import Callable
from typing import Any

from drumbeat.emulator.content.rules import MediaKinds, optional_text
from drumbeat.emulator.errors import Refused

LINK_LIMIT_CHARACTERS = 2048
CAPTION_LIMIT_CHARACTERS = 1024
FILENAME_LIMIT_CHARACTERS = 240


def check_media(kind: str) -> Callable[[dict[str, Any], MediaKinds], None]:
    """Return the check of one kind. A caption is accepted everywhere; audio and sticker ignore it (open
    point).
    """

    def check(content: dict[str, Any], media: MediaKinds) -> None:
        check_source(kind, content, media)
        optional_text(content, "caption", kind, CAPTION_LIMIT_CHARACTERS)
        if kind == "document":
            optional_text(content, "filename", kind, FILENAME_LIMIT_CHARACTERS)

    return check


def check_source(kind: str, content: dict[str, Any], media: MediaKinds) -> None:
    """Check that there is one of `id` and `link`, and that the file of that id is of the kind."""
    media_id, link = content.get("id"), content.get("link")
    if (media_id is None) == (link is None):
        raise Refused(131008, f"{kind} has either an id or a link")
    if link is not None:
        if not (isinstance(link, str) and link.startswith("https://") and len(link) <= LINK_LIMIT_CHARACTERS):
            raise Refused(100, f"{kind}.link is a public address that begins with https://")
        return
    found = media.kind_of(media_id) if isinstance(media_id, str) else None
    if found is None:
        raise Refused(131009, f"{kind}.id is not an uploaded file, or it is older than 30 days")
    # A picture may be sent as a document; nothing else changes its kind.
    if found != kind and kind != "document":
        raise Refused(131053, f"the file is of kind {found}, not {kind}")
