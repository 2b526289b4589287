"""Reads a campaign's guards from its row: hours and days, those of each recipient, the frequency cap."""

from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from zoneinfo import ZoneInfo

import asyncpg

from engine.core.clock_skew import ClockSkew
from engine.core.daily_window import DailyWindow
from engine.core.frequency_cap import FrequencyCap
from engine.core.sending_hours import EVERY_DAY, SendingHours
from engine.sending.recipient_hours import ALWAYS, RecipientHours, database_now

RECIPIENT_ZONE = "recipient"  # campaigns.time_zone: the zone of each recipient


@dataclass(frozen=True, slots=True)
class StoredGuards:
    """`hours`: of the whole campaign, in `time_zone`."""

    hours: SendingHours
    time_zone: ZoneInfo
    recipient_hours: RecipientHours
    cap: FrequencyCap | None


def stored_guards(row: asyncpg.Record, clock_skew: ClockSkew) -> StoredGuards:
    """The guards of a row with the columns of the statement `running`."""
    by_recipient = row["time_zone"] == RECIPIENT_ZONE
    window = _window(row["window_opens"], row["window_closes"])
    quiet = _window(row["quiet_until"], row["quiet_from"])
    hours = SendingHours(window, EVERY_DAY if row["days"] is None else frozenset(row["days"]))
    of_recipient = SendingHours(quiet + window, hours.days) if by_recipient else SendingHours(quiet)
    return StoredGuards(
        SendingHours() if by_recipient else hours,
        ZoneInfo("UTC" if by_recipient else row["time_zone"]),
        ALWAYS
        if of_recipient.is_always
        else RecipientHours(of_recipient, row["recipient_zones"] or (), partial(database_now, clock_skew)),
        _cap(row),
    )


def _window(opens: object, closes: object) -> tuple[DailyWindow, ...]:
    return () if opens is None else (DailyWindow.between(opens, closes),)  # type: ignore[arg-type]


def _cap(row: asyncpg.Record) -> FrequencyCap | None:
    if row["cap_messages"] is None:
        return None
    return FrequencyCap(row["cap_messages"], timedelta(seconds=row["cap_period_s"]))
