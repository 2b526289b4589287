"""The guards of a campaign, read from its row: hours and days, those of each recipient, the frequency cap."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from drumbeat.engine.core.limits.daily_window import DailyWindow
from drumbeat.engine.core.limits.frequency_cap import FrequencyCap
from drumbeat.engine.core.limits.sending_hours import EVERY_DAY, SendingHours
from drumbeat.engine.sending.recipient_hours import stored_zone

RECIPIENT_ZONE = "recipient"  # the value of campaigns.time_zone for the zone of each recipient


@dataclass(frozen=True, slots=True)
class StoredGuards:
    """The stored guards. `hours` hold for the whole campaign, in `time_zone`; `recipient_hours` in the
    recipient's zones.
    """

    hours: SendingHours
    time_zone: ZoneInfo
    recipient_hours: SendingHours
    cap: FrequencyCap | None


def stored_guards(row: Mapping[str, Any]) -> StoredGuards:
    """Return the guards of a row with the columns of the statement `running`."""
    by_recipient = row["time_zone"] == RECIPIENT_ZONE
    window = _window(row["window_opens"], row["window_closes"])
    quiet = _window(row["quiet_until"], row["quiet_from"])
    hours = SendingHours(window, EVERY_DAY if row["days"] is None else frozenset(row["days"]))
    return StoredGuards(
        SendingHours() if by_recipient else hours,
        stored_zone("UTC" if by_recipient else row["time_zone"]),
        SendingHours(quiet + window, hours.days) if by_recipient else SendingHours(quiet),
        _cap(row),
    )


def _window(opens: time | None, closes: time | None) -> tuple[DailyWindow, ...]:
    return () if opens is None or closes is None else (DailyWindow.between(opens, closes),)


def _cap(row: Mapping[str, Any]) -> FrequencyCap | None:
    if row["cap_messages"] is None:
        return None
    return FrequencyCap(row["cap_messages"], timedelta(seconds=row["cap_period_s"]))
