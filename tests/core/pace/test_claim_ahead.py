"""The claim-ahead follows what is written, so that claims neither wait nor expire."""

from collections.abc import Iterable

import pytest

from drumbeat.engine.core.pace.claim_ahead import SPAN_NS, ClaimAhead

LIMIT_PER_S = 1_000.0


def after(written: Iterable[int]) -> int:
    """The claim-ahead at 1,000/s, after quarters of a second in which so many messages were written."""
    ahead, writes = ClaimAhead(LIMIT_PER_S, 0), 0
    for turn, quarter in enumerate(written, 1):
        writes += quarter
        ahead.measure(writes, turn * SPAN_NS)
    return ahead.messages(LIMIT_PER_S)


@pytest.mark.parametrize(
    ("written", "messages"),
    [
        ([], 125),
        ([250] * 4, 250),
        ([250] * 4 + [0], 250),  # a stall changes nothing
        ([250, 0, 250, 0], 250),
        ([250] * 4 + [0] * 4, 50),
        ([0] * 40, 50),
        ([0] * 3 + [100], 50),  # a burst is no rate: 100/s
        ([50] * 4, 100),  # half a second of 200/s
        ([50] * 4 + [250] * 4, 250),
    ],
)
def test_the_claim_ahead_is_half_a_second_of_what_is_written(written: list[int], messages: int) -> None:
    assert after(written) == messages


def test_a_late_measure_still_measures_a_rate() -> None:
    ahead = ClaimAhead(LIMIT_PER_S, 0)
    for turn in range(1, 5):
        ahead.measure(100 * turn, 2 * turn * SPAN_NS)
    assert ahead.messages(LIMIT_PER_S) == 100


def test_nothing_is_learnt_from_less_than_a_quarter_of_a_second() -> None:
    ahead = ClaimAhead(LIMIT_PER_S, 0)
    for now_ns in range(0, SPAN_NS, SPAN_NS // 10):
        ahead.measure(0, now_ns)
    assert ahead.messages(LIMIT_PER_S) == 125


@pytest.mark.parametrize("rate_per_s", [0.5, 4.0, 80.0])
def test_the_claim_ahead_follows_the_rate_and_is_at_least_one_message(rate_per_s: float) -> None:
    ahead, pace = ClaimAhead(rate_per_s, 0), int(rate_per_s / 4)
    for turn in range(1, 9):
        ahead.measure(pace * turn, turn * SPAN_NS)
    assert ahead.messages(rate_per_s) == max(1, rate_per_s / 4)
    assert ahead.messages(rate_per_s / 2) == max(1, rate_per_s / 8)
