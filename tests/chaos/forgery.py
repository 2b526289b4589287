"""Events that are not the service's: unsigned, signed by somebody else, and real ones replayed with changes."""

import time
from collections.abc import Sequence

import orjson

from engine.webhooks.signature import SIGNATURE_HEADER, sign
from tests.chaos.checks import Message

Forged = tuple[str, bytes, str | None]
"""(what is wrong with it, body, signature or None)."""


def forgeries(messages: Sequence[Message], app_secret: str) -> list[Forged]:
    """Bodies that would fail these messages and tell of one that nobody sent, none of them rightly signed."""
    genuine = _body("sent", messages)
    altered = _body("failed", messages)
    return [
        ("unsigned", altered, None),
        ("signed by another", altered, sign(altered, b"another secret")),
        ("replayed with changes", altered, sign(genuine, app_secret.encode())),
        ("signed in another form", altered, sign(altered, app_secret.encode()).removeprefix("sha256=")),
    ]


def headers(signature: str | None) -> dict[str, str]:
    given = {} if signature is None else {SIGNATURE_HEADER.decode(): signature}
    return {"Content-Type": "application/json", **given}


def _body(word: str, messages: Sequence[Message]) -> bytes:
    # The last one is nobody's: were it stored, it would wait in the inbox for ever, where the bench finds it.
    invented = {"id": "wamid.forged", "status": word, "timestamp": str(int(time.time())), "recipient_id": "1"}
    told = [
        {"id": one.wamid, "biz_opaque_callback_data": one.tag, "errors": [{"code": 131026}]}
        for one in messages
    ]
    statuses = [{**invented, **one} for one in told] + [invented]
    number = messages[0].phone_number_id if messages else "1"
    value = {"messaging_product": "chat", "metadata": {"phone_number_id": number}, "statuses": statuses}
    change = {"field": "messages", "value": value}
    entry = {"id": "1", "changes": [change]}
    return orjson.dumps({"object": "chat_business_account", "entry": [entry]})
