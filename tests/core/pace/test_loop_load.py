"""When the loop counts as busy: after a late tick, or while the core is full for a span."""

import pytest

from drumbeat.engine.core.pace.loop_load import FULL_SHARE, LATE_NS, SPAN_NS, Busyness, LoopLoad


@pytest.mark.parametrize(
    ("at_ns", "cpu_ns", "busy"),
    [
        pytest.param([SPAN_NS - 1], [SPAN_NS - 1], [False], id="a single burst says nothing"),
        pytest.param(
            [SPAN_NS, SPAN_NS + 1, 2 * SPAN_NS],
            [SPAN_NS, SPAN_NS, SPAN_NS + int(SPAN_NS * FULL_SHARE) - 1],
            [True, True, False],
            id="full for a span, until a span with idle time is over",
        ),
        pytest.param(
            [turn * SPAN_NS for turn in range(1, 5)],
            [turn * SPAN_NS // 2 for turn in range(1, 5)],
            [False] * 4,
            id="an idle process",
        ),
    ],
)
def test_when_a_core_is_busy(at_ns: list[int], cpu_ns: list[int], busy: list[bool]) -> None:
    load = LoopLoad(0, 0)
    assert [bool(load.observe(*sample, 0)) for sample in zip(at_ns, cpu_ns, strict=True)] == busy


def test_a_late_tick_is_busy_at_once() -> None:
    load = LoopLoad(0, 0)
    assert load.observe(1, 0, LATE_NS) is Busyness.LATE
    assert load.observe(2, 0, LATE_NS - 1) is Busyness.CALM


def test_a_full_core_counts_more_than_a_late_tick() -> None:
    assert LoopLoad(0, 0).observe(SPAN_NS, SPAN_NS, LATE_NS) is Busyness.FULL
