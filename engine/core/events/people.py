"""The person whom a part of an event is about: by phone, by the service's id, or by a message of ours."""

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from drumbeat.engine.core.events.changed_number import read_changed_number
from drumbeat.engine.core.events.records import (
    INSTALLATION,
    PHONE_NUMBER_ID,
    RANGE_ID,
    RECIPIENT,
    SEQ,
    OptOutEvent,
    PersonId,
    StatusRow,
)
from drumbeat.engine.core.events.values import list_or_empty, read_identifier, read_text, read_time
from drumbeat.engine.core.phone_digits import phone_digits

SYSTEM = "system"  # the type of a message that the service wrote: it is no reply
PREFERENCES_FIELD = "user_preferences"
_CHOICES = frozenset({"stop", "resume"})
_NO_CATEGORY = "any"
_EPOCH = datetime.fromtimestamp(0, UTC)


def sender_of(message: Mapping[str, Any], contacts: Any) -> str | None:
    """Return the digits of the sender's phone, or what else names the sender.

    If the message names no phone, that is the person's id as it is. It is empty if the message only quotes
    another, and None if nothing names the person.
    """
    given = read_identifier(message.get("from"))
    if given is not None and (digits := phone_digits(given)) is not None:
        return digits
    user_id = read_identifier(message.get("from_user_id")) or given
    phone = _phone_in(contacts, user_id)
    return phone or given or user_id or ("" if quoted_wamid(message) else None)


def user_id_of(message: Mapping[str, Any], contacts: Any) -> str | None:
    """Return the service's id of the sender: that of the message, or that of the sole contact."""
    given = read_identifier(message.get("from_user_id"))
    if given is not None:
        return given
    people = [contact for contact in list_or_empty(contacts) if isinstance(contact, dict)]
    return read_identifier(people[0].get("user_id")) if len(people) == 1 else None


def quoted_wamid(message: Mapping[str, Any]) -> str | None:
    """Return the id of the message that this one answers."""
    context = message.get("context")
    return read_identifier(context.get("id")) if isinstance(context, dict) else None


def _phone_in(contacts: Any, user_id: str | None) -> str | None:
    """Return the phone of the contact with this id, or of the sole contact if it has no id."""
    people = [contact for contact in list_or_empty(contacts) if isinstance(contact, dict)]
    for person in people:
        known_as = read_identifier(person.get("user_id"))
        if known_as == user_id if known_as is not None else len(people) == 1:
            return phone_digits(read_text(person.get("wa_id")) or "")
    return None


def refusal(row: StatusRow) -> OptOutEvent:
    """Return the opt-out of a status that failed with 131050.

    An opt-out that names neither number nor recipient may be another account's, so it is not counted if its
    message is not known.
    """
    wamid, recipient = row[0], row[RECIPIENT]
    return OptOutEvent(
        _key("refused", wamid),
        "refused",
        _phone(recipient),
        wamid,
        row[RANGE_ID],
        row[SEQ],
        row[INSTALLATION],
        None,
        None,
        _EPOCH + timedelta(microseconds=row[2]),
        int(recipient is None and row[PHONE_NUMBER_ID] is None),
    )


def preferences_in(
    value: Mapping[str, Any], entry_at: datetime | None, now: datetime
) -> list[OptOutEvent | None]:
    """Return what people chose in the app's menu; None for each part that says nothing of that kind.

    `entry_at`, and then `now`, replace a time that is missing. `now` tells no event from another.
    """
    contacts = value.get("contacts")
    return [
        _preference(part, contacts, entry_at, now) if isinstance(part, dict) else None
        for part in list_or_empty(value.get("user_preferences"))
    ]


def _preference(
    part: Mapping[str, Any], contacts: Any, entry_at: datetime | None, now: datetime
) -> OptOutEvent | None:
    kind = (read_text(part.get("value")) or "").strip().lower()
    if kind not in _CHOICES:
        return None
    category = read_text(part.get("category")) or _NO_CATEGORY
    user_id = read_identifier(part.get("user_id"))
    phone = phone_digits(read_text(part.get("wa_id")) or "") or _phone_in(contacts, user_id)
    at = read_time(part.get("timestamp")) or entry_at
    key = _key(kind, phone or user_id or "", category, _moment(at))
    named = None if phone else user_id
    return OptOutEvent(key, kind, _phone(phone), None, None, None, None, category, None, at or now, 0, named)


def people_beside(value: Mapping[str, Any], name: str, now: datetime) -> list[PersonId]:
    """Return whom a change names by phone and by id, in its contacts or in the parts of its list `name`.

    They were seen at the time of the first part, or `now`.
    """
    parts = [part for part in list_or_empty(value.get(name)) if isinstance(part, dict)]
    contacts = [contact for contact in list_or_empty(value.get("contacts")) if isinstance(contact, dict)]
    named = [
        (user_id, phone)
        for person in (*contacts, *parts)
        if (user_id := read_identifier(person.get("user_id"))) is not None
        and (phone := phone_digits(read_text(person.get("wa_id")) or "")) is not None
    ]
    if not named:
        return []
    seen_at = (read_time(parts[0].get("timestamp")) if parts else None) or now
    return [PersonId(user_id, phone, seen_at) for user_id, phone in named]


def change_of_number(message: Mapping[str, Any], now: datetime) -> OptOutEvent | None:
    """Return the change of number that a message of the service says; None if it says none."""
    if (changed := read_changed_number(message)) is None:
        return None
    at = read_time(message.get("timestamp"))
    former, present = map(int, changed)
    key = _key("changed", *changed, _moment(at))
    return OptOutEvent(key, "changed", former, None, None, None, None, None, present, at or now)


def _moment(at: datetime | None) -> str:
    return "" if at is None else at.isoformat()


def _phone(text: str | None) -> int | None:
    digits = phone_digits(text or "")
    return None if digits is None else int(digits)


def _key(*identity: str) -> str:
    """Return a hash of the identity. No id or phone may remain when a person is forgotten."""
    return hashlib.sha256("\n".join(identity).encode()).hexdigest()
