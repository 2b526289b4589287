"""The body of a request to send a message, or to mark one as read."""

import re
from typing import Any, Protocol

from drumbeat.engine.errors import UsageError

MEDIA_TYPES = ("image", "video", "audio", "document", "sticker")
FREE_FORM_TYPES = ("text", *MEDIA_TYPES, "interactive", "reaction", "location", "contacts")
TAG_CHARACTERS_MAX = 512  # open point "Send"
_RECIPIENT = re.compile(r"[1-9][0-9]{4,14}", re.ASCII)


class Message(Protocol):
    """A message of one type: `kind` is the type, `content` the object of that name."""

    @property
    def kind(self) -> str: ...

    def content(self) -> Any: ...


def send_request(
    product: str, to: str, message: Message, *, reply_to: str | None = None, tag: str | None = None
) -> dict[str, Any]:
    """Return the body that sends `message`. `to` is digits with the country code.

    `reply_to` is the wamid of the message that it answers. `tag` comes back in each status of the message.
    """
    if not _RECIPIENT.fullmatch(to):
        raise UsageError("a recipient is digits with the country code, without a plus sign")
    if tag is not None and len(tag) > TAG_CHARACTERS_MAX:
        raise UsageError(f"a tag has at most {TAG_CHARACTERS_MAX} characters")
    body = {
        "messaging_product": product,
        "recipient_type": "individual",
        "to": to,
        "type": message.kind,
        message.kind: message.content(),
    }
    if reply_to is not None:
        body["context"] = {"message_id": reply_to}
    if tag is not None:
        body["biz_opaque_callback_data"] = tag
    return body


def read_request(product: str, wamid: str) -> dict[str, Any]:
    """Return the body that marks an incoming message as read."""
    return {"messaging_product": product, "status": "read", "message_id": wamid}
