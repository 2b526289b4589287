"""The values in JSON of the service, read with tolerance for what the interface does not document."""

from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from drumbeat.engine.core.sanitise import sanitise

TEXT_CHARACTERS_MAX = 512  # per text; the limit on the body bounds the rest
TIMES_REMEMBERED, TIME_CHARACTERS_MAX = 1_024, 20
_SECONDS_MAX = 253_402_300_799  # the last second of the year 9999


def read_time(given: Any) -> datetime | None:
    """Return the same as `read_seconds`, as a time in UTC."""
    seconds = read_seconds(given)
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def read_seconds(given: Any) -> int | None:
    """Return Unix seconds, given as text or number. None for anything else, and from the year 10000 on."""
    remembered = type(given) is str and len(given) <= TIME_CHARACTERS_MAX
    return _seconds_of_text(given) if remembered else _seconds_of(given)


@lru_cache(TIMES_REMEMBERED)
def _seconds_of_text(given: str) -> int | None:
    """Return a text's seconds, from a cache: statuses of one second arrive together, so most times repeat."""
    return _seconds_of(given)


def _seconds_of(given: Any) -> int | None:
    try:
        seconds = int(given)
    except (TypeError, ValueError, OverflowError):
        return None
    return seconds if 0 <= seconds <= _SECONDS_MAX else None


def read_text(given: Any) -> str | None:
    """Return a text that the store can hold: short, without NUL. A whole number becomes its digits."""
    if type(given) is str and len(given) <= TEXT_CHARACTERS_MAX and "\x00" not in given:
        return given
    if isinstance(given, int) and not isinstance(given, bool):
        given = str(given)
    if not isinstance(given, str):
        return None
    short = given if len(given) <= TEXT_CHARACTERS_MAX else given[:TEXT_CHARACTERS_MAX]
    return short.replace("\x00", "") if "\x00" in short else short


def read_words(given: Any) -> str | None:
    """Return a text that may be shown."""
    text = read_text(given)
    return None if text is None else sanitise(text)


def read_identifier(given: Any) -> str | None:
    """Return a text that identifies something, or None. Shortened or cleaned, it would name
    something else.
    """
    text = read_text(given)
    if text is given:
        return text or None
    return text if text and (text == given or text == str(given)) else None


def list_or_empty(given: Any) -> list[Any]:
    """Return a list as it is, and an empty one for anything else."""
    return given if isinstance(given, list) else []
