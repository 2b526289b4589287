"""A host's clock that is minutes off is corrected; jitter and a frozen process change nothing."""

from drumbeat.engine.core.clock_skew import ClockSkew

SECOND_NS = 1_000_000_000
MINUTE_NS = 60 * SECOND_NS


def test_a_clock_that_is_right_within_a_second_is_left_alone() -> None:
    skew = ClockSkew()
    for off_ns in (0, SECOND_NS // 2, -SECOND_NS // 2):
        assert not skew.compare(MINUTE_NS, MINUTE_NS + off_ns, MINUTE_NS)
    assert skew.skew_ns == 0


def test_a_clock_that_is_minutes_off_is_corrected_once_and_not_moved_by_jitter() -> None:
    for off_ns in (7 * MINUTE_NS, -11 * MINUTE_NS):
        skew = ClockSkew()
        assert skew.compare(100 * MINUTE_NS, 100 * MINUTE_NS + off_ns, 100 * MINUTE_NS)
        assert skew.skew_ns == off_ns
        assert not skew.compare(101 * MINUTE_NS, 101 * MINUTE_NS + off_ns + 9_000_000, 101 * MINUTE_NS)
        assert skew.skew_ns == off_ns


def test_a_clock_that_was_set_right_is_no_longer_corrected() -> None:
    skew = ClockSkew()
    skew.compare(0, 7 * MINUTE_NS, 0)
    assert skew.compare(8 * MINUTE_NS, 8 * MINUTE_NS + 300_000_000, 8 * MINUTE_NS)
    assert skew.skew_ns == 0


def test_a_process_that_was_frozen_during_the_look_learns_nothing() -> None:
    """The database answered at once; the process read the answer a minute later."""
    skew = ClockSkew()
    assert not skew.compare(0, 1_000_000, MINUTE_NS)
    assert skew.skew_ns == 0
