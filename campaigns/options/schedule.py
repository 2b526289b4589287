"""A reader of the options that say when a campaign may send, and how many failures it allows."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, time
from zoneinfo import ZoneInfo

from drumbeat.engine.errors import UsageError

RECIPIENT = "recipient"
_WINDOW = re.compile(r"(\d{2}):(\d{2})-(\d{2}):(\d{2})")
_MAX_FAILED = re.compile(r"(\d{1,12})|(\d{1,3}(?:\.\d{1,3})?)%")


@dataclass(frozen=True, slots=True)
class Schedule:
    """The times of a campaign, each with an offset. The window is local time in `time_zone` and may pass
    midnight.

    `time_zone` may be RECIPIENT: the zone of each recipient.
    """

    start_at: datetime | None
    expires_at: datetime | None
    window_opens: time | None
    window_closes: time | None
    time_zone: str


def read_schedule(
    start_at: str | None, expires_at: str | None, window: str | None, time_zone: str
) -> Schedule:
    """Read the options. Raise a UsageError that names the one that is wrong."""
    opens, closes = (None, None) if window is None else read_window(window)
    start = None if start_at is None else read_moment("start_at", start_at)
    end = None if expires_at is None else read_moment("expires_at", expires_at)
    if start is not None and end is not None and end <= start:
        raise UsageError(
            "{expires_at} is not after {start_at}: nothing would be sent",
            remedy="change one of them",
            values={},
        )
    return Schedule(start, end, opens, closes, read_time_zone(time_zone))


def require_future_end(schedule: Schedule) -> None:
    """Raise UsageError if the campaign has expired before it is stored."""
    if schedule.expires_at is not None and schedule.expires_at <= datetime.now(UTC):
        raise UsageError(
            "{expires_at} is in the past: nothing would be sent", remedy="choose a later time", values={}
        )


def read_moment(key: str, text: str) -> datetime:
    """Read a time in ISO 8601 with an offset, which is the same moment on every machine."""
    try:
        moment = datetime.fromisoformat(text)
        moment.astimezone(UTC)
    except (ValueError, OverflowError):  # some times of the years 1 and 9999 do not exist in UTC
        moment = None
    if moment is None or moment.tzinfo is None:
        raise UsageError(
            f"{{{key}}} {{text!r}} is not a time with an offset",
            remedy="write it as 2026-03-01T09:00:00-03:00",
            values={"text": text},
        )
    return moment


def read_window(text: str, key: str = "window", example: str = "09:00-20:00") -> tuple[time, time]:
    """Read `09:00-20:00`; 24:00 is midnight. Raise UsageError if it opens when it closes."""
    begin, dash, end = text.strip().partition("-")
    if dash and bool(begin) != bool(end):
        missing = "end" if begin else "begin"
        problem, remedy = f"has no {missing}", f"give both, such as {example}"
        raise UsageError(f"{{{key}}} {{text!r}} {problem}", remedy=remedy, values={"text": text})
    found = _WINDOW.fullmatch(text.strip())
    try:
        parts = [int(part) for part in found.groups()] if found is not None else []
        opens, closes = time(parts[0], parts[1]), time(parts[2] % 24 if parts[3] == 0 else parts[2], parts[3])
    except (ValueError, IndexError):
        raise UsageError(
            f"{{{key}}} {{text!r}} cannot be read", remedy=f"write it as {example}", values={"text": text}
        ) from None
    if opens == closes or parts[2] > 24:
        raise UsageError(
            f"{{{key}}} {{text!r}} is not a part of a day",
            remedy=f"write it as {example}",
            values={"text": text},
        )
    return opens, closes


def read_time_zone(name: str) -> str:
    """Check a time zone's name in the tz database, or RECIPIENT."""
    if name == RECIPIENT:
        return name
    try:
        return ZoneInfo(name).key
    except (KeyError, ValueError, OSError):  # unknown, not a plain name, a directory
        raise UsageError(
            f'there is no time zone "{name}"',
            remedy="use a name such as America/Sao_Paulo or UTC, or recipient",
            key="time_zone",
        ) from None


def check_max_failed(text: str, key: str = "max_failed") -> None:
    """Raise UsageError unless the text is `N`, or `N%` up to 100 %."""
    found = _MAX_FAILED.fullmatch(text)
    if found is None or (found[2] is not None and float(found[2]) > 100):
        raise UsageError(
            f"{{{key}}} {{text!r}} is neither a number nor a percentage",
            remedy="write 100 or 2.5%",
            values={"text": text},
        )
