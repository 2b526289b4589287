"""The times as a field of the browser has them: local, with the zone in a field beside it."""

from __future__ import annotations

from datetime import datetime
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from drumbeat.campaigns.options.schedule import RECIPIENT

UTC = "UTC"


def moment_of(local: str, zone: str) -> str:
    """Return the local time with the offset that its zone has then. A text that cannot be read stays as it
    is.
    """
    try:
        moment = datetime.fromisoformat(local)
        return local if moment.tzinfo is not None else moment.replace(tzinfo=ZoneInfo(zone)).isoformat()
    except (ValueError, KeyError, OSError):
        return local


def local_of(moment: str, zone: str) -> str:
    """Return a time with an offset on the clock of the zone. A text that cannot be read stays as it is."""
    try:
        return f"{datetime.fromisoformat(moment).astimezone(ZoneInfo(zone or UTC)):%Y-%m-%dT%H:%M}"
    except (ValueError, KeyError, OSError, OverflowError):
        return moment


def clock_of(time_zone: str | None) -> str:
    """Return the zone in which times are shown, by an option that may stand for the zones of many people."""
    return UTC if time_zone in (None, "", RECIPIENT) else str(time_zone)


@cache
def time_zones() -> list[str]:
    """Return the zones that people choose among: places, and UTC."""
    places = sorted(zone for zone in available_timezones() if "/" in zone and not zone.startswith("Etc/"))
    return [UTC, *places]
