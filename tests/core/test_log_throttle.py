"""Which occurrences of a repeated event are logged, in virtual time."""

from drumbeat.engine.core.log_throttle import LogThrottle
from drumbeat.engine.core.units import SECOND_NS

MINUTE_NS = 60 * SECOND_NS


def counts(throttle: LogThrottle, *at_s: float) -> list[int | None]:
    return [throttle.count(int(second * SECOND_NS)) for second in at_s]


def test_the_first_is_logged_at_once_then_one_a_minute_with_the_count() -> None:
    assert counts(LogThrottle(), 0, 0.4, 59.9, 60, 61, 119.9, 200) == [1, None, None, 3, None, None, 3]


def test_a_day_of_repeats_is_one_line_a_minute() -> None:
    throttle = LogThrottle()
    lines = [line for line in counts(throttle, *(n * 0.5 for n in range(172_800))) if line is not None]
    assert len(lines) == 1_440
    assert sum(lines) == 172_800 - 119, "all except those since the last line"


def test_the_end_is_logged_once_and_only_if_the_event_was_logged() -> None:
    throttle = LogThrottle()
    assert not throttle.resolve()
    throttle.count(0)
    assert throttle.resolve()
    assert not throttle.resolve()
    assert throttle.count(SECOND_NS) is None
    assert not throttle.resolve(), "the second was not logged"


def test_an_event_without_a_visible_end_is_resolved_after_a_quiet_time() -> None:
    throttle, quiet_ns = LogThrottle(), 10 * SECOND_NS
    assert not throttle.resolve_if_quiet(quiet_ns, quiet_ns)
    counts(throttle, 0, 9)
    assert not throttle.resolve_if_quiet(18 * SECOND_NS, quiet_ns)
    assert throttle.resolve_if_quiet(19 * SECOND_NS, quiet_ns)
    assert not throttle.resolve_if_quiet(30 * SECOND_NS, quiet_ns), "once"


def test_an_event_that_comes_and_goes_is_logged_no_more_often_than_one_that_stays() -> None:
    throttle, lines = LogThrottle(), 0
    for n in range(1_200):  # away and back, ten times a second, for two minutes
        lines += throttle.count(n * SECOND_NS // 10) is not None
        lines += throttle.resolve()
    assert lines == 4


def test_the_first_event_is_logged_even_just_after_the_boot() -> None:
    assert LogThrottle().count(1) == 1
