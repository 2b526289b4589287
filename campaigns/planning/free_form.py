"""A reader of a free-form message, as `message send` takes it."""

from typing import Any

import orjson

from drumbeat.engine.core.message_types import FREE_FORM_TYPES
from drumbeat.engine.errors import UsageError

MESSAGE_BYTES_MAX = 256 * 1024  # the requests of all types are far smaller


def read_message(text: bytes, where: str) -> dict[str, Any]:
    """Read a message in JSON, in the interface's form: `type`, and the content under the type's name."""
    if len(text) > MESSAGE_BYTES_MAX:
        raise UsageError(f"the message is longer than {MESSAGE_BYTES_MAX:,} bytes", where=where)
    try:
        message = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise UsageError(f"the message is not JSON: {error}", where=where) from None
    if not isinstance(message, dict):
        raise UsageError("the message is not a JSON object", where=where)
    kind = message.get("type")
    if kind not in FREE_FORM_TYPES:
        raise UsageError(
            f"the message needs a type: {', '.join(FREE_FORM_TYPES)}",
            where=where,
            remedy="a template is sent with {template}",
            values={},
        )
    if not isinstance(message.get(kind), dict | list) or message.keys() != {"type", kind}:
        raise UsageError(f"the message must hold `type` and `{kind}`, and nothing else", where=where)
    if "\\u0000" in orjson.dumps(message).decode():
        raise UsageError("the message holds a NUL character, which cannot be stored", where=where)
    return message


def with_reply(message: dict[str, Any], reply_to: str | None) -> dict[str, Any]:
    """Return the message as an answer to the message with this wamid."""
    return message if reply_to is None else {**message, "context": {"message_id": reply_to}}
