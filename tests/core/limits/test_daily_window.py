"""Daily windows across clock changes."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drumbeat.engine.core.limits.daily_window import DailyWindow, window_opens_at

SAO_PAULO = ZoneInfo("America/Sao_Paulo")
NEW_YORK = ZoneInfo("America/New_York")
LORD_HOWE = ZoneInfo("Australia/Lord_Howe")  # moves its clocks by half an hour


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


@pytest.mark.parametrize(
    ("zone", "window", "now", "opens"),
    [
        (SAO_PAULO, "09:00-20:00", "2026-05-04T09:00:00-03:00", "2026-05-04T09:00:00-03:00"),
        (SAO_PAULO, "09:00-20:00", "2026-05-04T19:59:59-03:00", "2026-05-04T19:59:59-03:00"),
        (SAO_PAULO, "09:00-20:00", "2026-05-04T20:00:00-03:00", "2026-05-05T09:00:00-03:00"),
        (SAO_PAULO, "09:00-20:00", "2026-05-04T08:59:59-03:00", "2026-05-04T09:00:00-03:00"),
        (SAO_PAULO, "22:00-06:00", "2026-05-04T12:00:00-03:00", "2026-05-04T22:00:00-03:00"),
        (SAO_PAULO, "22:00-06:00", "2026-05-04T03:00:00-03:00", "2026-05-04T03:00:00-03:00"),
        (SAO_PAULO, "22:00-06:00", "2026-05-04T06:00:00-03:00", "2026-05-04T22:00:00-03:00"),
        # The night in between is an hour shorter or longer.
        (NEW_YORK, "09:00-20:00", "2026-03-07T21:00:00-05:00", "2026-03-08T09:00:00-04:00"),
        (NEW_YORK, "09:00-20:00", "2026-10-31T21:00:00-04:00", "2026-11-01T09:00:00-05:00"),
        # Opens in the skipped hour: when the clocks jump from 02:00 to 03:00.
        (NEW_YORK, "02:30-20:00", "2026-03-08T01:00:00-05:00", "2026-03-08T03:00:00-04:00"),
        (NEW_YORK, "02:10-20:00", "2026-03-08T01:00:00-05:00", "2026-03-08T03:00:00-04:00"),
        (LORD_HOWE, "02:15-20:00", "2026-10-04T01:00:00+10:30", "2026-10-04T02:30:00+11:00"),
        # Opens in an hour that comes twice: in the first, or in the second if the first is over.
        (NEW_YORK, "01:30-20:00", "2026-11-01T00:00:00-04:00", "2026-11-01T01:30:00-04:00"),
        (NEW_YORK, "01:30-20:00", "2026-11-01T01:10:00-05:00", "2026-11-01T01:30:00-05:00"),
    ],
)
def test_when_a_window_opens(zone: ZoneInfo, window: str, now: str, opens: str) -> None:
    hours = DailyWindow.between(*map(time.fromisoformat, window.split("-")))
    assert window_opens_at(at(now), hours, zone) == at(opens)


minutes = st.integers(0, 24 * 60 - 1)


@settings(max_examples=300)
@given(
    st.sampled_from([SAO_PAULO, NEW_YORK, LORD_HOWE]),
    st.integers(0, 366 * 24 * 60),
    minutes,
    st.integers(1, 24 * 60),
)
def test_no_moment_before_the_opening_is_inside_the_window(
    zone: ZoneInfo, minute: int, opens: int, closes: int
) -> None:
    if opens == closes or closes < opens:
        closes = 24 * 60
    window = DailyWindow(opens, closes)
    now = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=minute)
    opening = window_opens_at(now, window, zone)
    assert opening >= now
    assert window.holds(opening.astimezone(zone).time())
    before = now
    while before < opening:
        twice = before.astimezone(zone).fold == 1
        assert twice or not window.holds(before.astimezone(zone).time())
        before += timedelta(minutes=7)


@pytest.mark.parametrize(("opens", "closes"), [(540, 540), (-1, 540), (1440, 480), (540, 0), (540, 1441)])
def test_an_impossible_window_is_refused(opens: int, closes: int) -> None:
    with pytest.raises(ValueError, match="window"):
        DailyWindow(opens, closes)


def test_a_window_that_closes_at_midnight_lasts_until_the_day_ends() -> None:
    assert DailyWindow.between(time(9), time(0)) == DailyWindow(9 * 60, 24 * 60)
    assert DailyWindow.between(time(0), time(0)).holds(time(23, 59, 59))
