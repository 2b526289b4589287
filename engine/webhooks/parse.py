"""Parses a signed body into records. It accepts any bytes, never raises, and loses no part.

It tolerates what the interface does not document: absent fields, unknown fields, other types. The store
cannot hold a NUL in a text: a status loses it, any other part is kept as bytes.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

import orjson

from engine.core.error_codes import opts_out
from engine.core.integer import integer
from engine.core.sanitise import sanitise
from engine.core.states import EvidenceRank
from engine.core.tag import decode
from engine.webhooks.events import (
    FOREIGN,
    NO_TAG,
    AccountEvent,
    IncomingMessage,
    Parsed,
    TemplateKey,
    TemplateStatus,
    Unreadable,
)

TEXT_CHARACTERS_MAX = 512  # per text; the limit on the body bounds the rest
TIMES_REMEMBERED, TIME_CHARACTERS_MAX = 1_024, 20
TEMPLATE_FIELD = "message_template_status_update"
# Of services of this family; the interface does not name it.
COMPONENTS_FIELD = "message_template_components_update"
_STATUSES = {
    "sent": int(EvidenceRank.SENT),
    "failed": int(EvidenceRank.FAILED),
    "delivered": int(EvidenceRank.DELIVERED),
    "read": int(EvidenceRank.READ),
}
_ACCEPTED, _FAILED = int(EvidenceRank.ACCEPTED), int(EvidenceRank.FAILED)
_NO_FAILURE = (None, None)
_SECONDS_MAX = 253_402_300_799  # the last second of the year 9999
_EPOCH, _MICROSECOND = datetime.fromtimestamp(0, UTC), timedelta(microseconds=1)
SUBJECT_CHARACTERS_MAX = 500  # an index entry holds at most 2,704 bytes; names are far shorter
_NUL = b"\\u0000"  # how JSON writes a NUL; a raw NUL is not valid JSON


def parse(body: bytes, product: str, received_at: datetime | None = None) -> Parsed:
    """Read a single body. The arguments are those of Reader. Never raises."""
    parsed = Parsed()
    Reader(parsed, product, received_at).read(body)
    return parsed


class Reader:
    """Sorts the parts of bodies into `parsed`. Unreadable parts go to its `unreadable`.

    `received_at` replaces a missing or unreadable time; by default it is the time of reading.
    """

    def __init__(self, parsed: Parsed, product: str, received_at: datetime | None = None) -> None:
        self._parsed = parsed
        self._expected = f"{product}_business_account"
        self._received_at = received_at
        self._has_nul = False  # whether the current body holds a NUL

    def read(self, body: bytes) -> int:
        """Read one body. Returns the number of its events, at least 1. Never raises."""
        parsed = self._parsed
        before = parsed.events
        self._has_nul = _NUL in body
        try:
            envelope = orjson.loads(body)
        except ValueError as error:
            parsed.unreadable.append(Unreadable(body, f"not JSON: {error}"[:200]))
            return 1
        if type(envelope) is not dict or envelope.get("object") != self._expected:
            parsed.unreadable.append(Unreadable(body, f"not an event of a {self._expected}"))
            return 1
        self._read_entries(envelope)
        if parsed.events == before:
            parsed.unreadable.append(Unreadable(body, "no event in it"))
        return parsed.events - before

    def _read_entries(self, envelope: dict[str, Any]) -> None:
        for entry in self._list_of(envelope, "entry"):
            changes = entry.get("changes") if type(entry) is dict else None
            if type(changes) is not list:
                self._keep(entry, "an entry without a list of changes")
                continue
            for change in changes:
                self._read_change(change, entry)

    def _read_change(self, change: Any, entry: dict[str, Any]) -> None:
        value = change.get("value") if type(change) is dict else None
        field = change.get("field") if type(change) is dict else None
        if type(value) is not dict or type(field) is not str:
            self._keep(change, "a change without field and value")
        elif field == "messages":
            self._read_messages(value, entry)
        else:
            self._read_account(field, value, entry)

    def _read_messages(self, value: dict[str, Any], entry: dict[str, Any]) -> None:
        metadata = value.get("metadata")
        number = _text(metadata.get("phone_number_id")) if type(metadata) is dict else None
        statuses, messages = self._list_of(value, "statuses"), self._list_of(value, "messages")
        if statuses:
            self._read_statuses(statuses, number)
        for message in messages:
            self._read_message(message, number)
        if not statuses and not messages:
            self._read_account("messages", value, entry)

    def _read_statuses(self, statuses: list[Any], number: str | None) -> None:
        """The usual status costs two calls, for the tag and the time: a body may hold a thousand statuses."""
        rows, clean = self._parsed.statuses, not self._has_nul
        for status in statuses:
            wamid = status.get("id") if type(status) is dict else None
            if not (type(wamid) is str and 0 < len(wamid) <= TEXT_CHARACTERS_MAX and clean):
                wamid = _identifier(wamid)
            if not wamid:
                self._keep(status, "a status without the id of its message")
                continue
            word = status.get("status")
            rank = _STATUSES.get(word) if type(word) is str else None
            if rank is None:
                # Any status proves that the service accepted the message. The unknown word is kept.
                self._keep(status, "a status of an unknown word")
                rank = _ACCEPTED
            recipient = status.get("recipient_id")
            if not (type(recipient) is str and len(recipient) <= TEXT_CHARACTERS_MAX and clean):
                recipient = _text(recipient)
            seconds = _seconds_or_none(status.get("timestamp"))
            at_us = self._now_us() if seconds is None else seconds * 1_000_000
            opaque = status.get("biz_opaque_callback_data")
            tag = (decode(opaque) or FOREIGN) if opaque else NO_TAG
            why = _failure(status) if rank == _FAILED else _NO_FAILURE
            row = (wamid, rank, at_us, number, recipient, *tag, *why)
            rows.append(row)
            if rank == _FAILED and opts_out(why[0]):
                self._parsed.opted_out.append(row)

    def _now(self) -> datetime:
        return self._received_at or datetime.now(UTC)

    def _now_us(self) -> int:
        return (self._now() - _EPOCH) // _MICROSECOND

    def _read_message(self, message: Any, number: str | None) -> None:
        wamid = _identifier(message.get("id")) if isinstance(message, dict) else None
        sender = _identifier(message.get("from")) if isinstance(message, dict) else None
        if not wamid or not sender:
            self._keep(message, "a message without id or sender")
        elif (text := self._json(message)) is None:
            self._keep(message, "a message that the store cannot hold")
        else:
            kind = _text(message.get("type")) or "unknown"
            sent_at = _time_or_none(message.get("timestamp")) or self._now()
            self._parsed.messages.append(IncomingMessage(wamid, number, sender, kind, sent_at, text))

    def _read_account(self, field: str, value: dict[str, Any], entry: dict[str, Any]) -> None:
        text = self._json(value)
        if text is None or _identifier(field) is None:
            self._keep({"field": field, "value": value}, "an event that the store cannot hold")
            return
        subject, occurred_at = _subject(field, value), _time_or_none(entry.get("time"))
        self._parsed.account.append(AccountEvent(field, text, subject, occurred_at))

    def _list_of(self, parent: dict[str, Any], name: str) -> list[Any]:
        """The list of that name. Anything else in its place is kept as unreadable."""
        found = parent.get(name)
        if found is not None and not isinstance(found, list):
            self._keep(found, f"{name} is no list")
        return _list(found)

    def _json(self, part: Any) -> str | None:
        """The part as JSON again. None if it holds a NUL, or is nested too deeply to write."""
        try:
            text = orjson.dumps(part)
        except orjson.JSONEncodeError:
            return None
        return None if self._has_nul and _NUL in text else text.decode()

    def _keep(self, part: Any, problem: str) -> None:
        try:
            kept = orjson.dumps(part)
        except orjson.JSONEncodeError:
            kept = repr(part).encode("utf-8", "backslashreplace")
        self._parsed.unreadable.append(Unreadable(kept, problem))


def read_template_status(value: dict[str, Any]) -> TemplateStatus | None:
    """The template's status in an event's value (open point). None without name, language or event."""
    template, event = read_template(value), _words(value.get("event"))
    if template is None or not event:
        return None
    return TemplateStatus(template.name, template.language, event.upper(), _words(value.get("reason")))


def read_template(value: dict[str, Any]) -> TemplateKey | None:
    """The template that an event is about (open point)."""
    name = _words(value.get("message_template_name"))
    language = _words(value.get("message_template_language"))
    return TemplateKey(name, language) if name and language else None


def _subject(field: str, value: dict[str, Any]) -> str:
    if (template := read_template(value)) is not None:
        subject = f"{field}:{template.name}:{template.language}"
    else:
        subject = f"{field}:{_text(value.get('display_phone_number')) or ''}"
    return subject[:SUBJECT_CHARACTERS_MAX]


def _failure(status: dict[str, Any]) -> tuple[int | None, str | None]:
    """Code and most informative text of the first error (open point)."""
    for error in _list(status.get("errors")):
        if isinstance(error, dict):
            return integer(error.get("code")), next(_details(error), None)
    return None, None


def _details(error: dict[str, Any]) -> Iterator[str]:
    data = error.get("error_data")
    nested = data.get("details") if isinstance(data, dict) else data
    for candidate in (nested, error.get("message"), error.get("title")):
        if text := _words(candidate):
            yield text


def _time_or_none(given: Any) -> datetime | None:
    seconds = _seconds_or_none(given)
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def _seconds_or_none(given: Any) -> int | None:
    """Unix seconds, as text (interface) or number. None for anything else, and from the year 10000 on."""
    remembered = type(given) is str and len(given) <= TIME_CHARACTERS_MAX
    return _seconds_of_text(given) if remembered else _seconds_of(given)


@lru_cache(TIMES_REMEMBERED)
def _seconds_of_text(given: str) -> int | None:
    """Cached: statuses of the same second arrive together, so nearly every time repeats."""
    return _seconds_of(given)


def _seconds_of(given: Any) -> int | None:
    try:
        seconds = int(given)
    except (TypeError, ValueError, OverflowError):
        return None
    return seconds if 0 <= seconds <= _SECONDS_MAX else None


def _text(given: Any) -> str | None:
    """A text that the store can hold: limited in length, without NUL. A whole number becomes its digits."""
    if type(given) is str and len(given) <= TEXT_CHARACTERS_MAX and "\x00" not in given:
        return given
    if isinstance(given, int) and not isinstance(given, bool):
        given = str(given)
    if not isinstance(given, str):
        return None
    short = given if len(given) <= TEXT_CHARACTERS_MAX else given[:TEXT_CHARACTERS_MAX]
    return short.replace("\x00", "") if "\x00" in short else short


def _words(given: Any) -> str | None:
    """A text that may be shown."""
    text = _text(given)
    return None if text is None else sanitise(text)


def _identifier(given: Any) -> str | None:
    """A text that identifies something. It is never shortened or cleaned: that would change what it names."""
    text = _text(given)
    if text is given:
        return text or None
    return text if text and (text == given or text == str(given)) else None


def _list(given: Any) -> list[Any]:
    return given if isinstance(given, list) else []
