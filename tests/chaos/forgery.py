"""Forged events: unsigned, signed with another secret, and real ones replayed with changes."""

import time
from collections.abc import Sequence

import orjson

from drumbeat.engine.webhooks.signature import SIGNATURE_HEADER, sign
from tests.chaos.message import Message

Forged = tuple[str, bytes, str | None]
"""(what is wrong with it, body, signature or None)."""


def forgeries(messages: Sequence[Message], app_secret: str) -> list[Forged]:
    """Bodies that would fail these messages and report one that was never sent. None has a right signature."""
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
    # The last status is of no message. If it were stored, it would wait in the inbox, where the bench finds it.
    invented = {"id": "wamid.forged", "status": word, "timestamp": str(int(time.time())), "recipient_id": "1"}
    failures = [
        {"id": message.wamid, "biz_opaque_callback_data": message.tag, "errors": [{"code": 131026}]}
        for message in messages
    ]
    statuses = [{**invented, **failure} for failure in failures] + [invented]
    number = messages[0].phone_number_id if messages else "1"
    value = {"messaging_product": "chat", "metadata": {"phone_number_id": number}, "statuses": statuses}
    change = {"field": "messages", "value": value}
    entry = {"id": "1", "changes": [change]}
    return orjson.dumps({"object": "chat_business_account", "entry": [entry]})
