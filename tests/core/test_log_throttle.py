"""What is told of something that happens again and again, in virtual time."""

from engine.core.bucket import SECOND_NS
from engine.core.log_throttle import LogThrottle

MINUTE_NS = 60 * SECOND_NS


def told(repeats: LogThrottle, *at_s: float) -> list[int | None]:
    return [repeats.count(int(one * SECOND_NS)) for one in at_s]


def test_the_first_is_told_at_once_then_one_a_minute_with_their_number() -> None:
    assert told(LogThrottle(), 0, 0.4, 59.9, 60, 61, 119.9, 200) == [1, None, None, 3, None, None, 3]


def test_a_storm_of_a_day_is_a_line_a_minute() -> None:
    repeats = LogThrottle()
    lines = [line for line in told(repeats, *(n * 0.5 for n in range(172_800))) if line is not None]
    assert len(lines) == 1_440
    assert sum(lines) == 172_800 - 119, "all but those since the last line"


def test_its_end_is_told_once_and_only_of_what_was_told() -> None:
    repeats = LogThrottle()
    assert not repeats.resolve()
    repeats.count(0)
    assert repeats.resolve()
    assert not repeats.resolve()
    assert repeats.count(SECOND_NS) is None
    assert not repeats.resolve(), "nobody was told of the second"


def test_what_has_no_opposite_is_over_when_it_did_not_come_again_for_a_while() -> None:
    repeats, quiet_ns = LogThrottle(), 10 * SECOND_NS
    assert not repeats.resolve_if_quiet(quiet_ns, quiet_ns)
    told(repeats, 0, 9)
    assert not repeats.resolve_if_quiet(18 * SECOND_NS, quiet_ns)
    assert repeats.resolve_if_quiet(19 * SECOND_NS, quiet_ns)
    assert not repeats.resolve_if_quiet(30 * SECOND_NS, quiet_ns), "once"


def test_whoever_flickers_is_told_of_as_seldom_as_whoever_stays_away() -> None:
    repeats, lines = LogThrottle(), 0
    for n in range(1_200):  # away and back, ten times a second, for two minutes
        lines += repeats.count(n * SECOND_NS // 10) is not None
        lines += repeats.resolve()
    assert lines == 4


def test_who_begins_on_a_machine_that_has_just_started_is_told_of() -> None:
    assert LogThrottle().count(1) == 1
