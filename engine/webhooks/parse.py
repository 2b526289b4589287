"""The parser of a signed body into records. It accepts any bytes, never raises, and loses no part.

It tolerates what the interface does not document: absent fields, unknown fields, other types. The store
cannot hold a NUL in a text, so texts lose it. A part is kept as bytes if a NUL stands in what identifies it.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from drumbeat.engine.core.error_codes import opts_out
from drumbeat.engine.core.events.json_repair import repair
from drumbeat.engine.core.events.origin import Origin, Ours, origin_of
from drumbeat.engine.core.events.people import (
    PREFERENCES_FIELD,
    SYSTEM,
    change_of_number,
    people_beside,
    preferences_in,
    sender_of,
    user_id_of,
)
from drumbeat.engine.core.events.records import (
    FOREIGN,
    INSTALLATION,
    NO_TAG,
    AccountEvent,
    Foreign,
    IncomingMessage,
    Parsed,
    StatusEvent,
    StatusRow,
    TemplateKey,
    TemplateStatus,
    Unreadable,
)
from drumbeat.engine.core.events.values import (
    TEXT_CHARACTERS_MAX,
    list_or_empty,
    read_identifier,
    read_seconds,
    read_text,
    read_time,
    read_words,
)
from drumbeat.engine.core.integer import integer
from drumbeat.engine.core.pricing import pricing_code
from drumbeat.engine.core.states import EvidenceRank
from drumbeat.engine.core.tag import decode

TEMPLATE_FIELD = "message_template_status_update"
# This field is of services of this family; the interface does not name it.
COMPONENTS_FIELD = "message_template_components_update"
_STATUSES = {
    "sent": int(EvidenceRank.SENT),
    "failed": int(EvidenceRank.FAILED),
    "delivered": int(EvidenceRank.DELIVERED),
    "read": int(EvidenceRank.READ),
}
_ACCEPTED, _FAILED = int(EvidenceRank.ACCEPTED), int(EvidenceRank.FAILED)
_NO_FAILURE = (None, None)
_EPOCH, _MICROSECOND = datetime.fromtimestamp(0, UTC), timedelta(microseconds=1)
SUBJECT_CHARACTERS_MAX = 500  # an index entry holds at most 2,704 bytes; names are far shorter
_NUL = b"\\u0000"  # how JSON writes a NUL; a raw NUL is not valid JSON
_ESCAPE = re.compile(rb"\\(?:u0000|.)", re.DOTALL)


def parse(body: bytes, product: str, received_at: datetime | None = None, ours: Ours | None = None) -> Parsed:
    """Read a single body. The arguments are those of Reader. Never raises."""
    parsed = Parsed()
    Reader(parsed, product, received_at, ours).read(body)
    return parsed


class Reader:
    """A reader that sorts the parts of bodies into `parsed`. Unreadable parts go to its `unreadable`.

    `received_at` replaces a missing or unreadable time; by default it is the time of reading. `ours` decides
    which events are ours; by default every event is.
    """

    def __init__(
        self,
        parsed: Parsed,
        product: str,
        received_at: datetime | None = None,
        ours: Ours | None = None,
    ) -> None:
        self._parsed = parsed
        self._expected = f"{product}_business_account"
        self._received_at = received_at
        self._ours = ours or Ours()
        self._body = b""  # this and the next one are of the current body
        self._has_nul = False
        self._entry: dict[str, Any] = {}  # what identifies the current entry, and then the current change
        self._change: dict[str, Any] = {}

    def read(self, body: bytes) -> int:
        """Read one body. Return the number of its events, at least 1. Never raises."""
        parsed = self._parsed
        before = parsed.events
        self._body, self._has_nul = body, _NUL in body
        try:
            envelope = orjson.loads(body)
        except ValueError as error:
            parsed.unreadable.append(Unreadable(body, f"not JSON: {error}"[:200]))
            envelope = _repaired(body)
        problem = "no event in it"
        if type(envelope) is dict and envelope.get("object") == self._expected:
            self._read_entries(envelope)
        else:
            problem = f"not an event of a {self._expected}"
        if (found := parsed.events - before) == 0:
            parsed.unreadable.append(Unreadable(body, problem))
        return found or 1

    def _read_entries(self, envelope: dict[str, Any]) -> None:
        entries = envelope.get("entry")
        if entries is not None and type(entries) is not list:
            self._keep(entries, "entry is no list")
        for entry in list_or_empty(entries):
            changes = entry.get("changes") if type(entry) is dict else None
            if type(changes) is not list:
                self._keep([entry], "an entry without a list of changes")
                continue
            for change in changes:
                self._read_change(change, entry)

    def _read_change(self, change: Any, entry: dict[str, Any]) -> None:
        value = change.get("value") if type(change) is dict else None
        field = change.get("field") if type(change) is dict else None
        self._entry, self._change = entry, change
        if type(value) is not dict or type(field) is not str:
            self._keep_change(change, "a change without field and value")
            return
        metadata = value.get("metadata")
        number = read_text(metadata.get("phone_number_id")) if type(metadata) is dict else None
        account = read_text(entry.get("id"))
        origin = origin_of(account, number, self._ours)
        statuses = self._list_in(value, "statuses") if field == "messages" else []
        if statuses:
            self._read_statuses(statuses, number, origin)
        if origin is not Origin.OURS:
            self._set_apart(change, Foreign(origin, account, number), has_statuses=bool(statuses))
            return
        if statuses and "contacts" in value:
            self._parsed.people += people_beside(value, "statuses", self._now())
        if field == "messages":
            if not statuses or "messages" in value:
                self._read_messages(value, entry, number, has_statuses=bool(statuses))
        elif field == PREFERENCES_FIELD:
            self._read_preferences(value, entry)
        else:
            self._read_account(field, value, entry)

    def _set_apart(self, change: dict[str, Any], foreign: Foreign, *, has_statuses: bool) -> None:
        """Count a change that is not ours. A number not known yet may become ours: its change is kept."""
        if foreign.origin is Origin.UNKNOWN_NUMBER:
            if has_statuses and not change["value"].get("messages"):
                return
            self._parsed.unreadable.append(self._held(change, foreign))
        self._parsed.foreign.append(foreign)

    def _held(self, change: dict[str, Any], foreign: Foreign) -> Unreadable:
        """Return the change as a body of its own, so that it can be read again."""
        entry = {"id": foreign.account, "changes": [change]}
        try:
            part = orjson.dumps({"object": self._expected, "entry": [entry]})
        except orjson.JSONEncodeError:
            part = self._body
        return Unreadable(part, "its number is not known", foreign.number)

    def _read_messages(
        self, value: dict[str, Any], entry: dict[str, Any], number: str | None, *, has_statuses: bool
    ) -> None:
        messages = self._list_in(value, "messages")
        for message in messages:
            is_system = type(message) is dict and message.get("type") == SYSTEM
            if is_system and (changed := change_of_number(message, self._now())) is not None:
                self._parsed.opt_outs.append(changed)
            elif is_system:
                self._read_account("messages", {"messages": [message]}, entry)
            else:
                self._read_message(message, number, value.get("contacts"))
        if not has_statuses and not messages:
            self._read_account("messages", value, entry)

    def _read_preferences(self, value: dict[str, Any], entry: dict[str, Any]) -> None:
        found = preferences_in(value, read_time(entry.get("time")), self._now())
        self._parsed.opt_outs += [event for event in found if event is not None]
        self._parsed.people += people_beside(value, PREFERENCES_FIELD, self._now())
        if not found or None in found:
            self._read_account(PREFERENCES_FIELD, value, entry)

    def _read_statuses(self, statuses: list[Any], number: str | None, origin: Origin) -> None:
        """Read the statuses of a change.

        The usual status costs two calls, for the tag and the time: a body may hold a thousand statuses.
        """
        rows, clean, is_ours = self._parsed.statuses, not self._has_nul, origin is Origin.OURS
        first = len(rows)
        for status in statuses:
            wamid = status.get("id") if type(status) is dict else None
            if not (type(wamid) is str and 0 < len(wamid) <= TEXT_CHARACTERS_MAX and clean):
                wamid = read_identifier(wamid)
            if not wamid:
                self._keep_part("statuses", [status], "a status without the id of its message")
                continue
            word = status.get("status")
            rank = _STATUSES.get(word) if type(word) is str else None
            if rank is None:
                # Any status proves that the service accepted the message. A status with an unknown word is
                # kept.
                self._keep_part("statuses", [status], "a status of an unknown word")
                rank = _ACCEPTED
            recipient = status.get("recipient_id")
            if not (type(recipient) is str and len(recipient) <= TEXT_CHARACTERS_MAX and clean):
                recipient = read_text(recipient)
            seconds = read_seconds(status.get("timestamp"))
            at_us = _microseconds(self._now()) if seconds is None else seconds * 1_000_000
            opaque = status.get("biz_opaque_callback_data")
            tag = (decode(opaque) or FOREIGN) if opaque else NO_TAG
            why = _failure(status) if rank == _FAILED else _NO_FAILURE
            pricing = pricing_code(status.get("pricing"))
            row = (wamid, rank, at_us, number, recipient, *tag, *why, pricing)
            rows.append(row)
            if rank == _FAILED and opts_out(why[0]):
                self._parsed.opted_out.append(row if is_ours else _of_known_messages_only(row))
        if origin is Origin.OTHER_ACCOUNT:
            rows[first:] = map(_of_known_messages_only, rows[first:])

    def _now(self) -> datetime:
        return self._received_at or datetime.now(UTC)

    def _read_message(self, message: Any, number: str | None, contacts: Any) -> None:
        wamid = read_identifier(message.get("id")) if isinstance(message, dict) else None
        sender = sender_of(message, contacts) if isinstance(message, dict) else None
        if not wamid or sender is None:
            self._keep_part("messages", [message], "a message without id or sender")
        elif (text := self._json(message)) is None:
            self._keep_part("messages", [message], "a message that the store cannot hold")
        else:
            kind = read_text(message.get("type")) or "unknown"
            sent_at = read_time(message.get("timestamp")) or self._now()
            user_id = user_id_of(message, contacts)
            self._parsed.messages.append(IncomingMessage(wamid, number, sender, kind, sent_at, text, user_id))

    def _read_account(self, field: str, value: dict[str, Any], entry: dict[str, Any]) -> None:
        text = self._json(value)
        if text is None or read_identifier(field) is None:
            self._keep_change({"field": field, "value": value}, "an event that the store cannot hold")
            return
        subject, occurred_at = _subject(field, value), read_time(entry.get("time"))
        self._parsed.account.append(AccountEvent(field, text, subject, occurred_at))

    def _list_in(self, value: dict[str, Any], name: str) -> list[Any]:
        """Return the list of that name. Anything else in its place is kept as unreadable."""
        found = value.get(name)
        if found is not None and not isinstance(found, list):
            self._keep_part(name, found, f"{name} is no list")
        return list_or_empty(found)

    def _json(self, part: Any) -> str | None:
        """Return the part as JSON again, without NULs. None if it is nested too deeply to write."""
        try:
            text = orjson.dumps(part)
        except orjson.JSONEncodeError:
            return None
        return (_ESCAPE.sub(_without_nul, text) if self._has_nul else text).decode()

    def _keep_part(self, name: str, part: Any, problem: str) -> None:
        """Keep a part of the current change's value, with what says whose it is."""
        value = {each: self._change["value"].get(each) for each in ("metadata", "contacts")}
        self._keep_change({"field": self._change["field"], "value": {**value, name: part}}, problem)

    def _keep_change(self, change: Any, problem: str) -> None:
        head = {each: self._entry[each] for each in ("id", "time") if each in self._entry}
        self._keep([{**head, "changes": [change]}], problem)

    def _keep(self, entries: Any, problem: str) -> None:
        """Keep entries as a body of their own, so that it can be read again (`reread.py`)."""
        try:
            kept = orjson.dumps({"object": self._expected, "entry": entries})
        except orjson.JSONEncodeError:
            kept = self._body
        self._parsed.unreadable.append(Unreadable(kept, problem))


def _without_nul(escape: re.Match[bytes]) -> bytes:
    return b"" if escape[0] == _NUL else escape[0]


def _repaired(body: bytes) -> Any:
    """Return what can be read of a body that the strict reader refuses; None for nothing."""
    try:
        return orjson.loads(repair(body))
    except ValueError:
        return None


def _microseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


def _of_known_messages_only(row: StatusRow) -> StatusRow:
    """Return a status of another account so that it matches only by our tag or by its message's id.

    It is matched for only about a minute: its number and its recipient prove nothing, and the other account
    may have many such statuses.
    """
    installation = FOREIGN[0] if row[INSTALLATION] is None else row[INSTALLATION]
    return StatusEvent(*row)._replace(phone_number_id=None, recipient=None, installation=installation)


def read_template_status(value: dict[str, Any]) -> TemplateStatus | None:
    """Return the template's status in an event's value (open point). None without name, language or event."""
    template, event = read_template(value), read_words(value.get("event"))
    if template is None or not event:
        return None
    return TemplateStatus(template.name, template.language, event.upper(), read_words(value.get("reason")))


def read_template(value: dict[str, Any]) -> TemplateKey | None:
    """Return the template that an event is about (open point)."""
    name = read_words(value.get("message_template_name"))
    language = read_words(value.get("message_template_language"))
    return TemplateKey(name, language) if name and language else None


def _subject(field: str, value: dict[str, Any]) -> str:
    if (template := read_template(value)) is not None:
        subject = f"{field}:{template.name}:{template.language}"
    else:
        subject = f"{field}:{read_text(value.get('display_phone_number')) or ''}"
    return subject[:SUBJECT_CHARACTERS_MAX]


def _failure(status: dict[str, Any]) -> tuple[int | None, str | None]:
    """Return code and most informative text of the first error (open point)."""
    for error in list_or_empty(status.get("errors")):
        if isinstance(error, dict):
            return integer(error.get("code")), next(_details(error), None)
    return None, None


def _details(error: dict[str, Any]) -> Iterator[str]:
    data = error.get("error_data")
    nested = data.get("details") if isinstance(data, dict) else data
    for candidate in (nested, error.get("message"), error.get("title")):
        if text := read_words(candidate):
            yield text
