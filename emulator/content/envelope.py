"""The members that every message has: the product, the recipient, the tag of the caller."""

from typing import Any

from drumbeat.emulator.errors import Refused
from drumbeat.emulator.wire.request_reply import parse_object

TAG_LIMIT_CHARACTERS = 512
# The longest international number; the interface takes digits alone.
RECIPIENT_LIMIT_DIGITS = 15


def parse_message(body: bytes, product: str) -> dict[str, Any]:
    """Return the JSON object of a body for this product. `Refused` (100) for anything else."""
    message = parse_object(body)
    if message.get("messaging_product") != product:
        raise Refused(100, f'messaging_product is required and is "{product}"')
    return message


def read_envelope(message: dict[str, Any]) -> tuple[str, int, str | None]:
    """Return (`to`, the same as a number, the tag). `Refused` 131008 if one is missing, 131009 or 100 if it
    is wrong.
    """
    to = message.get("to")
    if not (to.__class__ is str and 5 <= len(to) <= RECIPIENT_LIMIT_DIGITS and to.isdigit() and to.isascii()):
        code, why = (131008, "is required") if to is None else (131009, "is digits with a country code")
        raise Refused(code, f"to {why}, with no plus sign")
    if to[0] == "0":
        raise Refused(131009, "to begins with a country code, never with 0")
    if message.get("recipient_type", "individual") != "individual":
        raise Refused(131009, "recipient_type is individual")
    tag = message.get("biz_opaque_callback_data")
    if tag is not None and not (isinstance(tag, str) and len(tag) <= TAG_LIMIT_CHARACTERS):
        raise Refused(100, f"biz_opaque_callback_data is a string of up to {TAG_LIMIT_CHARACTERS} characters")
    return to, int(to), tag


def check_context(context: Any) -> None:
    """Check the reference to the message that is replied to, `{"message_id"}` (open point). `Refused` 131009
    for anything else.
    """
    if context is not None and not (isinstance(context, dict) and isinstance(context.get("message_id"), str)):
        raise Refused(131009, "context has the message_id that is replied to")
