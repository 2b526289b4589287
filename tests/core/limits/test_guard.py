"""The guards: expiry and opt-out, the daily window, and the pair rate with its burst."""

from __future__ import annotations

from datetime import datetime, time
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumbeat.engine.core.limits.daily_window import DailyWindow
from drumbeat.engine.core.limits.guard import PASS, Defer, PairGuard, Refuse, check_hours, check_recipient
from drumbeat.engine.core.limits.sending_hours import SendingHours
from drumbeat.engine.core.units import SECOND_NS

SAO_PAULO = ZoneInfo("America/Sao_Paulo")
NEW_YORK = ZoneInfo("America/New_York")
DAY = SendingHours((DailyWindow.between(time(9), time(20)),))


def test_a_closed_window_says_when_it_opens() -> None:
    assert check_hours(datetime.fromisoformat("2026-05-04T12:00:00-03:00"), DAY, [SAO_PAULO]) == PASS
    deferred = check_hours(datetime.fromisoformat("2026-05-04T21:00:00-03:00"), DAY, [SAO_PAULO])
    assert deferred == Defer(12 * 3600, "quiet hours until 09:00 America/Sao_Paulo")


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
    assert check_hours(evening, DAY, [NEW_YORK]) == Defer(
        11 * 3600, "quiet hours until 09:00 America/New_York"
    )
