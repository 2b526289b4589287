"""Daily windows across clock changes, and the pair rate with its burst."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.core.guard import (
    PASS,
    DailyWindow,
    Defer,
    PairGuard,
    Refuse,
    check_recipient,
    check_window,
    window_opens_at,
)
from engine.core.units import SECOND_NS

SAO_PAULO = ZoneInfo("America/Sao_Paulo")
NEW_YORK = ZoneInfo("America/New_York")
LORD_HOWE = ZoneInfo("Australia/Lord_Howe")  # moves its clocks by half an hour
DAY = DailyWindow.between(time(9), time(20))
NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)


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


def test_a_closed_window_says_when_it_opens() -> None:
    assert check_window(at("2026-05-04T12:00:00-03:00"), DAY, SAO_PAULO) == PASS
    deferred = check_window(at("2026-05-04T21:00:00-03:00"), DAY, SAO_PAULO)
    assert deferred == Defer(12 * 3600, "quiet hours until 09:00 America/Sao_Paulo")


@pytest.mark.parametrize(("opens", "closes"), [(540, 540), (-1, 540), (1440, 480), (540, 0), (540, 1441)])
def test_an_impossible_window_is_refused(opens: int, closes: int) -> None:
    with pytest.raises(ValueError, match="window"):
        DailyWindow(opens, closes)


def test_a_window_that_closes_at_midnight_lasts_until_the_day_ends() -> None:
    assert DailyWindow.between(time(9), time(0)) == DailyWindow(9 * 60, 24 * 60)
    assert DailyWindow.between(time(0), time(0)).holds(time(23, 59, 59))


def test_opt_out_and_expiry() -> None:
    assert check_recipient(opted_out=False, expires_ns=None, now_ns=5) == PASS
    assert check_recipient(opted_out=False, expires_ns=6, now_ns=5) == PASS
    assert check_recipient(opted_out=False, expires_ns=5, now_ns=5) == Refuse("expired")
    assert check_recipient(opted_out=True, expires_ns=None, now_ns=5) == Refuse("opted out")


def test_a_burst_of_a_pair_is_paid_back_by_a_longer_wait() -> None:
    guard = PairGuard()
    assert [guard.admit(1, 0) for _ in range(45)] == [PASS] * 45
    assert guard.admit(1, 0) == Defer(6.0, "pair rate")
    assert guard.admit(2, 0) == PASS
    assert guard.admit(1, 6 * SECOND_NS) == PASS
    assert guard.admit(1, 6 * SECOND_NS) == Defer(6.0, "pair rate")
    assert guard.admit(1, 276 * SECOND_NS) == PASS


def test_an_idle_pair_saves_up_no_extra_burst() -> None:
    guard = PairGuard(burst=2)
    guard.admit(1, 0)
    later_ns = 3_600 * SECOND_NS
    assert [guard.admit(1, later_ns) for _ in range(3)] == [PASS, PASS, Defer(6.0, "pair rate")]


def test_a_deferred_message_adds_no_debt() -> None:
    guard = PairGuard(burst=1)
    guard.admit(1, 0)
    waits = [guard.admit(1, second * SECOND_NS) for second in (1, 2, 5)]
    assert [wait.wait_s for wait in waits if isinstance(wait, Defer)] == [5, 4, 1]
    assert guard.admit(1, 6 * SECOND_NS) == PASS


@given(st.integers(1, 9), st.lists(st.integers(0, 20 * SECOND_NS), max_size=60))
def test_no_period_holds_more_than_the_burst_and_the_rate_of_a_pair(burst: int, steps: list[int]) -> None:
    guard, now_ns, written = PairGuard(burst=burst), 0, []
    for step in steps:
        now_ns += step
        if guard.admit(7, now_ns) == PASS:
            written.append(now_ns)
    for first, begin in enumerate(written):
        for last, end in enumerate(written[first:], first):
            assert last - first + 1 <= burst + (end - begin) / (6 * SECOND_NS)


def test_pairs_without_debt_are_removed() -> None:
    guard = PairGuard()
    for recipient in range(100_000):
        guard.admit(recipient, recipient * SECOND_NS // 1_000)
    assert len(guard) <= 2 * 6_000 + 1


def test_a_pair_with_debt_stays_while_others_are_removed() -> None:
    guard = PairGuard(burst=1)
    guard.admit(0, 0)
    for other in range(1, 2_000):
        guard.admit(other, SECOND_NS)
    assert guard.admit(0, 5 * SECOND_NS) == Defer(1.0, "pair rate")


def test_the_map_never_grows_past_its_limit() -> None:
    guard = PairGuard(pairs_max=100)
    for recipient in range(1_000):
        guard.admit(recipient, 0)
        assert len(guard) <= 100


def test_a_full_map_removes_its_oldest_pair() -> None:
    guard = PairGuard(burst=1, pairs_max=2)
    for recipient in (1, 2, 3):
        guard.admit(recipient, 0)
    assert guard.admit(3, 0) == guard.admit(2, 0) == Defer(6.0, "pair rate")
    assert guard.admit(1, 0) == PASS


@pytest.mark.parametrize("wrong", [{"every_s": 0}, {"burst": 0}, {"pairs_max": 0}])
def test_an_impossible_pair_rate_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="pair"):
        PairGuard(**wrong)


def test_a_wait_across_a_clock_change_is_in_real_hours() -> None:
    evening = datetime(2026, 3, 7, 21, tzinfo=NEW_YORK)
    assert check_window(evening, DAY, NEW_YORK) == Defer(
        11 * 3600, "quiet hours until 09:00 America/New_York"
    )
