"""The lead of the mark follows what gets written, so that claims neither wait nor run out."""

from collections.abc import Iterable

import pytest

from engine.core.lead import MEASURE_NS, Lead

LIMIT_PER_S = 1_000.0


def after(written: Iterable[int]) -> int:
    """The lead at 1,000/s after quarters of a second in which so many messages were written."""
    lead, writes = Lead(LIMIT_PER_S, 0), 0
    for place, quarter in enumerate(written, 1):
        writes += quarter
        lead.measure(writes, place * MEASURE_NS)
    return lead.messages(LIMIT_PER_S)


@pytest.mark.parametrize(
    ("written", "messages"),
    [
        ([], 125),
        ([250] * 4, 250),
        ([250] * 4 + [0], 250),  # a stall costs no lead
        ([250, 0, 250, 0], 250),
        ([250] * 4 + [0] * 4, 50),
        ([0] * 40, 50),
        ([0] * 3 + [100], 50),  # a burst is no pace: 100/s
        ([50] * 4, 100),  # half a second of 200/s
        ([50] * 4 + [250] * 4, 250),
    ],
)
def test_the_lead_is_half_a_second_of_what_gets_written(written: list[int], messages: int) -> None:
    assert after(written) == messages


def test_a_look_that_comes_late_measures_a_rate_all_the_same() -> None:
    lead = Lead(LIMIT_PER_S, 0)
    for place in range(1, 5):
        lead.measure(100 * place, 2 * place * MEASURE_NS)
    assert lead.messages(LIMIT_PER_S) == 100


def test_nothing_is_learnt_from_less_than_a_quarter_of_a_second() -> None:
    lead = Lead(LIMIT_PER_S, 0)
    for now_ns in range(0, MEASURE_NS, MEASURE_NS // 10):
        lead.measure(0, now_ns)
    assert lead.messages(LIMIT_PER_S) == 125


@pytest.mark.parametrize("rate_per_s", [0.5, 4.0, 80.0])
def test_the_lead_follows_the_rate_and_is_at_least_one_message(rate_per_s: float) -> None:
    lead, pace = Lead(rate_per_s, 0), int(rate_per_s / 4)
    for place in range(1, 9):
        lead.measure(pace * place, place * MEASURE_NS)
    assert lead.messages(rate_per_s) == max(1, rate_per_s / 4)
    assert lead.messages(rate_per_s / 2) == max(1, rate_per_s / 8)
