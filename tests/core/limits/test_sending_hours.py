"""Hours and days by local time, in one zone and in several, across clock changes."""

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumbeat.engine.core.limits.daily_window import DailyWindow
from drumbeat.engine.core.limits.sending_hours import EVERY_DAY, SendingHours, Wait, wait_in_words, wait_of

DAY = DailyWindow.between(time(9), time(20))
WEEKDAYS = frozenset(range(5))
BERLIN, NEW_YORK, TOKYO, APIA = map(
    ZoneInfo, ("Europe/Berlin", "America/New_York", "Asia/Tokyo", "Pacific/Apia")
)
ZONES = (BERLIN, NEW_YORK, TOKYO, ZoneInfo("America/St_Johns"), ZoneInfo("Australia/Lord_Howe"))


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


@pytest.mark.parametrize(
    ("hours", "zones", "now", "opens_at"),
    [
        # inside, outside, and on a closed day
        (SendingHours((DAY,)), [BERLIN], "2026-05-06T12:00+02:00", "2026-05-06T12:00+02:00"),
        (SendingHours((DAY,)), [BERLIN], "2026-05-06T21:00+02:00", "2026-05-07T09:00+02:00"),
        (SendingHours((DAY,), WEEKDAYS), [BERLIN], "2026-05-08T21:00+02:00", "2026-05-11T09:00+02:00"),
        (SendingHours((), WEEKDAYS), [BERLIN], "2026-05-09T12:00+02:00", "2026-05-11T00:00+02:00"),
        # the hours that all zones allow: Berlin and New York share 15:00 to 20:00 of Berlin
        (SendingHours((DAY,)), [BERLIN, NEW_YORK], "2026-05-06T10:00+02:00", "2026-05-06T15:00+02:00"),
        (SendingHours((DAY,)), [BERLIN, NEW_YORK], "2026-05-06T20:30+02:00", "2026-05-07T15:00+02:00"),
        # a Sunday in one of them is a Sunday for both
        (SendingHours((), WEEKDAYS), [TOKYO, NEW_YORK], "2026-05-10T20:00Z", "2026-05-11T04:00Z"),
        # the clocks go forward at 02:00 (29 March) and back at 03:00 (25 October)
        (SendingHours((DailyWindow.between(time(2, 30), time(5)),)), [BERLIN], "2026-03-29T00:00Z", "2026-03-29T01:00Z"),
        (SendingHours((DAY,)), [BERLIN], "2026-03-28T20:00Z", "2026-03-29T07:00Z"),
        (SendingHours((DAY,)), [BERLIN], "2026-10-24T20:00Z", "2026-10-25T08:00Z"),
        # the daily windows of zones twelve hours apart never meet
        (SendingHours((DAY,)), [ZoneInfo("Etc/GMT+6"), ZoneInfo("Etc/GMT-6")], "2026-05-06T00:00Z", None),
    ],
)  # fmt: skip
def test_when_it_opens(hours: SendingHours, zones: list[ZoneInfo], now: str, opens_at: str | None) -> None:
    assert hours.opens_at(at(now), zones) == (None if opens_at is None else at(opens_at))


def test_when_it_closes() -> None:
    noon = at("2026-05-08T12:00+02:00")
    assert SendingHours().closes_at(noon, [BERLIN]) is None
    assert SendingHours((DAY,)).closes_at(noon, [BERLIN]) == at("2026-05-08T20:00+02:00")
    assert SendingHours((), WEEKDAYS).closes_at(noon, [BERLIN]) == at("2026-05-09T00:00+02:00")
    assert SendingHours((DAY,)).closes_at(noon, [BERLIN, TOKYO]) == at("2026-05-08T20:00+09:00")
    assert SendingHours((DailyWindow.between(time(0), time(0)),)).closes_at(noon, [BERLIN]) is None


def test_the_wait_is_said_in_local_time_if_there_is_one_zone() -> None:
    now, opens_at = at("2026-05-08T20:00Z"), at("2026-05-11T07:00Z")
    assert wait_in_words(opens_at, now, [BERLIN]) == "quiet hours until Mon 09:00 Europe/Berlin"
    assert (
        wait_in_words(opens_at, opens_at - timedelta(hours=8), [BERLIN])
        == "quiet hours until 09:00 Europe/Berlin"
    )
    assert (
        wait_in_words(opens_at, now, [BERLIN, TOKYO])
        == "quiet hours in one of 2 time zones until 2026-05-11 07:00 UTC"
    )


def allows(hours: SendingHours, moment: datetime, zones: list[ZoneInfo]) -> bool:
    """The rule as it is said, without a search."""
    locals_ = [moment.astimezone(zone) for zone in zones]
    return all(
        local.weekday() in hours.days and all(window.holds(local.time()) for window in hours.windows)
        for local in locals_
    )


minutes = st.integers(0, 47).map(lambda half_hour: half_hour * 30)
windows = (
    st.tuples(minutes, minutes)
    .filter(lambda pair: pair[0] != pair[1])
    .map(lambda pair: DailyWindow(pair[0], pair[1] or 1440))
)
moments = st.integers(0, 730 * 48).map(
    lambda half: datetime(2026, 1, 1, tzinfo=UTC) + half * timedelta(minutes=30)
)


@given(
    st.lists(windows, max_size=2),
    st.frozensets(st.integers(0, 6), min_size=1),
    st.lists(st.sampled_from(ZONES), min_size=1, max_size=3, unique=True),
    moments,
)
def test_nothing_opens_too_early_and_nothing_too_late(
    some: list[DailyWindow], days: frozenset[int], zones: list[ZoneInfo], now: datetime
) -> None:
    """Half hours are enough: every offset of the zones and every time of the windows is one."""
    hours = SendingHours(tuple(some), days)
    opens_at = hours.opens_at(now, zones)
    end = opens_at if opens_at is not None else now + timedelta(days=14)
    moment = now
    while moment < end:
        assert not allows(hours, moment, zones)
        moment += timedelta(minutes=30)
    assert opens_at is None or allows(hours, opens_at, zones)


@given(windows, st.sampled_from(ZONES), moments)
def test_closing_is_the_first_moment_that_is_not_allowed(
    window: DailyWindow, zone: ZoneInfo, now: datetime
) -> None:
    hours = SendingHours((window,), EVERY_DAY - {6})
    closes_at = hours.closes_at(now, [zone])
    assert closes_at is not None and not allows(hours, closes_at, [zone])
    moment = now
    while moment < closes_at:
        assert allows(hours, moment, [zone])
        moment += timedelta(minutes=30)


@given(st.lists(st.sampled_from(ZONES), min_size=1, max_size=3, unique=True), moments, st.integers(1, 5_000))
def test_the_words_of_a_wait_can_be_read_again(zones: list[ZoneInfo], now: datetime, minutes: int) -> None:
    opens_at = now + timedelta(minutes=minutes)
    wait = wait_of(f"waiting: {wait_in_words(opens_at, now, zones)}")
    if len(zones) > 1:
        assert wait == Wait(zones=len(zones), until=opens_at.astimezone(UTC).replace(second=0, microsecond=0))
    else:
        local = opens_at.astimezone(zones[0])
        assert wait is not None and wait.zone == zones[0].key
        assert wait.time.split(" ") == ([f"{local:%a}"] if minutes > 24 * 60 else []) + [f"{local:%H:%M}"]


def test_words_of_another_reason_are_no_wait() -> None:
    assert wait_of("messaging limit: 1,000 of 1,000 people in 24 hours") is None
