"""The packing of events: one POST carries up to 1,000 updates, grouped by account, number and field."""

import codecs
import hashlib
import hmac
from collections.abc import Iterable
from json.encoder import encode_basestring_ascii
from typing import Any, NamedTuple

import orjson

MESSAGES = "messages"
USER_PREFERENCES = "user_preferences"
TEMPLATE_STATUS = "message_template_status_update"
QUALITY_UPDATE = "phone_number_quality_update"
TEMPLATE_QUALITY = "message_template_quality_update"
TEMPLATE_CATEGORY = "template_category_update"
ACCOUNT_REVIEW = "account_review_update"
ACCOUNT_UPDATE = "account_update"
_JSON_ESCAPE = "json_escape"


class Update(NamedTuple):
    """One update of an event.

    For the fields `messages` and `user_preferences`, `list_name` is `statuses`, `messages` or
    `user_preferences`, `value` one element of it, `contact` the customer whom it is about; for other fields
    `value` is the whole change.
    """

    account_id: str
    number_id: str | None
    field: str
    value: dict[str, Any]
    list_name: str | None = None
    contact: dict[str, Any] | None = None


def envelope(updates: Iterable[Update], product: str, displays: dict[str, str], unix_s: int) -> bytes:
    """Return the body of one POST at a time. `displays` gives the display phone number of each number id."""
    entries: dict[str, list[dict[str, Any]]] = {}
    lists: dict[tuple[str, str | None, str], dict[str, Any]] = {}
    for update in updates:
        changes = entries.setdefault(update.account_id, [])
        if update.list_name is None:
            changes.append({"value": update.value, "field": update.field})
            continue
        key = update.account_id, update.number_id, update.list_name
        value = lists.get(key)
        if value is None:
            value = _messages_value(update, product, displays)
            lists[key] = value
            changes.append({"value": value, "field": update.field})
        value[update.list_name].append(update.value)
        if update.contact is not None and update.contact not in value["contacts"]:
            value["contacts"].append(update.contact)
    # Without a time, a client by others fails (open point).
    entry = [
        {"id": account_id, "time": unix_s, "changes": changes} for account_id, changes in entries.items()
    ]
    return _escaped(orjson.dumps({"object": f"{product}_business_account", "entry": entry}))


def _escaped(body: bytes) -> bytes:
    """Return the same JSON in ASCII. Other characters stand only in its strings, and there an escape means
    the same.

    Most bodies are ASCII already and cost one look.
    """
    if body.isascii():
        return body
    return body.decode().encode("ascii", _JSON_ESCAPE)


def _escape(error: UnicodeError) -> tuple[str, int]:
    """Return the escapes of a run of characters that are not ASCII."""
    assert isinstance(error, UnicodeEncodeError)
    return encode_basestring_ascii(error.object[error.start : error.end])[1:-1], error.end


codecs.register_error(_JSON_ESCAPE, _escape)


def _messages_value(update: Update, product: str, displays: dict[str, str]) -> dict[str, Any]:
    assert update.list_name is not None
    value: dict[str, Any] = {
        "messaging_product": product,
        "metadata": {
            "display_phone_number": displays.get(update.number_id or "", ""),
            "phone_number_id": update.number_id,
        },
    }
    if update.contact is not None:
        value["contacts"] = []
    value[update.list_name] = []
    return value


def signature(body: bytes, app_secret: str) -> str:
    """Return the value of `X-Hub-Signature-256` for exactly these bytes."""
    return "sha256=" + hmac.new(app_secret.encode(), body, hashlib.sha256).hexdigest()
