"""A rate over time, of samples of how many requests were made by then."""

from datetime import UTC, datetime, timedelta

import pytest

from drumbeat.campaigns.results.rates import SLOTS_MAX, RateHistory, RateSample, history_of

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def samples(*given: tuple[float, int]) -> list[RateSample]:
    """Each: the seconds since noon, and the requests made by then."""
    return [RateSample(NOON + timedelta(seconds=at_s), attempts, attempts // 10) for at_s, attempts in given]


def test_a_rate_is_what_was_sent_between_two_samples() -> None:
    history = history_of({"1": samples((0, 0), (10, 800), (20, 1_200), (40, 1_200))})
    assert (history.begins, history.ends) == (NOON, NOON + timedelta(seconds=40))
    (line,) = history.lines
    assert line.per_s == pytest.approx((80.0, 40.0, 0.0, 0.0))
    assert (line.peak_per_s, line.throttled) == (pytest.approx(80.0), 120)


def test_all_numbers_share_one_span_of_time() -> None:
    history = history_of(
        {"1": samples((0, 0), (10, 100)), "2": samples((10, 0), (20, 100)), "3": samples((5, 0))}
    )
    assert {line.phone_number_id: line.per_s for line in history.lines} == {
        "1": pytest.approx((10.0, 0.0)),
        "2": pytest.approx((0.0, 10.0)),
    }


def test_a_sample_that_lacks_a_batch_makes_no_negative_rate() -> None:
    history = history_of({"1": samples((0, 0), (10, 800), (10.5, 790), (20, 790), (30, 800))})
    assert history.lines[0].per_s == pytest.approx((80.0, 0.0, 0.0))


def test_a_long_campaign_has_no_more_slots_and_loses_nothing() -> None:
    day_s = 24 * 3600
    history = history_of({"1": samples(*((at_s, 80 * at_s) for at_s in range(0, day_s + 1, 600)))})
    assert len(history.lines[0].per_s) == SLOTS_MAX
    assert sum(history.lines[0].per_s) * day_s / SLOTS_MAX == pytest.approx(80 * day_s)


def test_nothing_sent_is_no_history() -> None:
    assert history_of({}) == RateHistory()
    assert history_of({"1": samples((3, 1))}) == RateHistory(), "one sample has no time"
