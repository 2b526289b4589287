"""When a process counts as busy: late ticks, or a core that is used up for a span."""

from engine.core.strain import BUSY_SHARE, LATE_NS, SPAN_NS, Load, Strain


def test_a_late_tick_is_busy_at_once() -> None:
    strain = Strain(0, 0)
    assert strain.look(1, 0, LATE_NS) is Load.LATE
    assert not strain.look(2, 0, LATE_NS - 1)


def test_a_full_core_is_busy_after_a_span_and_until_a_span_with_room() -> None:
    strain = Strain(0, 0)
    assert not strain.look(SPAN_NS - 1, SPAN_NS - 1, 0), "one burst says nothing"
    assert strain.look(SPAN_NS, SPAN_NS, 0) is Load.FULL
    assert strain.look(SPAN_NS + 1, SPAN_NS + 1, 0), "until the next span is over"
    assert not strain.look(2 * SPAN_NS, SPAN_NS + int(SPAN_NS * BUSY_SHARE) - 1, 0)


def test_an_idle_process_is_not_busy() -> None:
    strain = Strain(0, 0)
    assert not any(strain.look(turn * SPAN_NS, turn * SPAN_NS // 2, 0) for turn in range(1, 5))
