"""The sliding window and the pair rate, against plain definitions of both."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumbeat.emulator.pace import SECOND_NS, SlidingWindow
from drumbeat.emulator.pair import BURST, SPACING_NS, PairRate

steps = st.lists(st.integers(0, SECOND_NS // 2), min_size=1, max_size=200)


def arrivals(gaps: list[int]) -> list[int]:
    times, now_ns = [], 1_000
    for gap in gaps:
        now_ns += gap
        times.append(now_ns)
    return times


@given(steps, st.integers(1, 8))
def test_a_request_is_admitted_exactly_when_its_second_is_not_full(gaps: list[int], limit: int) -> None:
    window, accepted = SlidingWindow(limit), list[int]()
    for now_ns in arrivals(gaps):
        admitted = len([before for before in accepted if before > now_ns - SECOND_NS]) < limit
        assert window.full(now_ns) is not admitted
        if admitted:
            window.count(now_ns)
            accepted.append(now_ns)
    for begin, end in zip(accepted, accepted[limit:], strict=False):
        assert end - begin >= SECOND_NS
    assert window.largest_count <= limit


def test_the_second_is_half_open() -> None:
    window = SlidingWindow(1)
    window.count(0)
    assert window.full(SECOND_NS - 1)
    assert not window.full(SECOND_NS)


@pytest.mark.parametrize(("rate", "limit", "window_s"), [(80, 80, 1.0), (2.5, 3, 1.2), (0.5, 1, 2.0)])
def test_a_broken_rate_keeps_its_mean(rate: float, limit: int, window_s: float) -> None:
    window = SlidingWindow(rate)
    assert (window.limit, window.window_ns / SECOND_NS) == (limit, window_s)


def test_a_changed_rate_counts_what_is_in_the_window() -> None:
    window = SlidingWindow(3)
    for now_ns in (0, 1, 2):
        window.count(now_ns)
    window.set_rate(5)
    assert not window.full(3)
    window.set_rate(2)
    assert window.full(SECOND_NS)
    assert not window.full(SECOND_NS + 1)


@pytest.mark.parametrize("rate", [0, -1, float("nan"), float("inf")])
def test_a_rate_is_positive(rate: float) -> None:
    with pytest.raises(ValueError, match="positive"):
        SlidingWindow(rate)


class PlainPair:
    """The rule over a long time: a burst, then no message until its debt is paid."""

    def __init__(self) -> None:
        self.began_ns, self.messages = -(10**18), 0

    def ask(self, now_ns: int) -> bool:
        if now_ns >= self.began_ns + self.messages * SPACING_NS:
            self.began_ns, self.messages = now_ns, 1
            return True
        if self.messages < BURST and now_ns - self.began_ns < SPACING_NS:
            self.messages += 1
            return True
        return False


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 8 * SPACING_NS // 7)), max_size=300))
def test_the_pair_rate_forgets_nothing_that_matters(asked: list[tuple[int, int]]) -> None:
    pair, plain, now_ns = PairRate(), {recipient: PlainPair() for recipient in range(5)}, 0
    for recipient, gap_ns in asked:
        now_ns += gap_ns
        assert pair.admit(recipient, now_ns) is plain[recipient].ask(now_ns)


def test_a_burst_of_45_is_borrowed_and_then_one_in_six_seconds() -> None:
    pair, now_ns = PairRate(), 10**12
    assert all(pair.admit(7, now_ns) for _ in range(BURST))
    paid_ns = now_ns + BURST * SPACING_NS
    assert not pair.admit(7, now_ns)
    assert not pair.admit(7, paid_ns - 1)
    assert pair.admit(7, paid_ns)
