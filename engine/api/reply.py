"""The reader of a complete reply of the service: it returns the outcome.

The open points require tolerance: fields may be missing, have another type, or stand beside unknown fields.
An unreadable field counts as absent, and the classification decides by the rest.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import orjson

from drumbeat.engine.core.classify import classify
from drumbeat.engine.core.integer import integer
from drumbeat.engine.core.outcome import Accepted, Outcome
from drumbeat.engine.core.sanitise import sanitise

BODY_BYTES_MAX = 64 * 1024  # a reply to one send is under 1 KiB
DETAIL_CHARACTERS_MAX = 500  # enough for every documented detail; stored once per failure
WAMID_CHARACTERS_MAX = 512  # the service's have about 60 characters; the database indexes them
WAIT_S_MAX = 24 * 3600.0  # the longest window of the service: no reply stops a number for longer
_USAGE_HEADER = "x-business-use-case-usage"
# Words of `message_status` for an accepted message that waits (open point): for a check of the template's
# quality, or because the template is paused.
_HELD = frozenset({"held_for_quality_assessment", "paused"})


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """The content of a reply: error code and subcode, most informative error text, message id, wait in
    seconds. `is_transient` is the service's own word.
    """

    code: int | None = None
    detail: str = ""
    wamid: str | None = None
    wait_s: float | None = None
    held: bool = False
    subcode: int | None = None
    is_transient: bool = False


def outcome_of(status: int, headers: Mapping[str, str], body: bytes) -> Outcome:
    """Return the outcome of a complete reply. Never raises. `headers` must ignore the case of names."""
    if status == 200 and (accepted := acceptance(body)) is not None:
        return accepted
    reply = parse_reply(status, headers, body)
    return classify(
        status,
        reply.code,
        reply.detail,
        reply.wamid,
        reply.wait_s,
        held=reply.held,
        subcode=reply.subcode,
        is_transient=reply.is_transient,
    )


def parse_reply(status: int, headers: Mapping[str, str], body: bytes) -> ParsedReply:
    """Return the readable content of a reply. Never raises."""
    if (accepted := acceptance(body)) is not None:
        return ParsedReply(wamid=accepted.wamid, held=accepted.held)
    error = parse_error(body)
    return replace(error, wait_s=_wait_s(headers)) if status >= 400 else error


def acceptance(body: bytes) -> Accepted | None:
    """Return the acceptance in the usual body, which names a message. None for any other body. Never raises.

    This is the fast path.
    """
    try:
        first = orjson.loads(body)["messages"][0]
        wamid = first["id"]
    except (ValueError, LookupError, TypeError):
        return None
    if type(wamid) is str and 0 < len(wamid) <= WAMID_CHARACTERS_MAX and "\x00" not in wamid:
        return Accepted(wamid, first.get("message_status") in _HELD)
    return None


def parse_error(body: bytes) -> ParsedReply:
    """Return the content of an error body: all but the wait, which stands in the headers."""
    try:
        error = _error(orjson.loads(body))
    except orjson.JSONDecodeError:
        error = ParsedReply()
    return error if error.detail else replace(error, detail=_excerpt(body))


def _error(content: Any) -> ParsedReply:
    error = content.get("error") if isinstance(content, dict) else None
    if not isinstance(error, dict):
        return ParsedReply(detail=_clean(error) if isinstance(error, str) else "")
    data = error.get("error_data")
    details = data.get("details") if isinstance(data, dict) else data
    texts = (details, error.get("error_user_msg"), error.get("message"), error.get("error_user_title"))
    detail = next((text for text in texts if isinstance(text, str) and text.strip()), "")
    return ParsedReply(
        integer(error.get("code")),
        _clean(detail),
        subcode=integer(error.get("error_subcode")),
        is_transient=error.get("is_transient") is True,
    )


def _clean(text: str) -> str:
    return sanitise(text).strip()[:DETAIL_CHARACTERS_MAX]


def _excerpt(body: bytes) -> str:
    return _clean(" ".join(body[:200].decode("utf-8", "replace").split()))


def _wait_s(headers: Mapping[str, str]) -> float | None:
    """Return the longer of `Retry-After` and the account's estimated time to regain access, in seconds."""
    waits = [*_retry_after_s(headers), *_regain_s(headers.get(_USAGE_HEADER, ""))]
    return min(max(waits), WAIT_S_MAX) if waits else None


def _retry_after_s(headers: Mapping[str, str]) -> Iterable[float]:
    text = headers.get("Retry-After", "").strip()
    if text.isascii() and text.isdecimal():
        yield float(text[:9])
    elif text:
        until = _date(text)
        # Compare with the server's clock if it sends one, so that a wrong local clock does no harm.
        now = _date(headers.get("Date", "")) or datetime.now(UTC)
        if until is not None and until > now:
            yield (until - now).total_seconds()


def _date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return date if date.tzinfo is not None else date.replace(tzinfo=UTC)


def _regain_s(text: str) -> Iterable[float]:
    """Yield the waits in `{"<account>": [{"estimated_time_to_regain_access": minutes, ...}, ...]}` (open
    point).
    """
    try:
        usage = orjson.loads(text) if text else None
    except orjson.JSONDecodeError:
        return
    for entries in usage.values() if isinstance(usage, dict) else ():
        for entry in entries if isinstance(entries, list) else ():
            minutes = (
                integer(entry.get("estimated_time_to_regain_access")) if isinstance(entry, dict) else None
            )
            if minutes is not None and minutes > 0:
                yield minutes * 60.0
