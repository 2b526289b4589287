"""Wilson intervals against published values."""

import pytest

from drumbeat.engine.core.wilson import wilson_interval


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),  # Newcombe 1998, Statistics in Medicine 17, table I, method 3
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (29, 29, 0.8830, 1.0000),  # the mirror of 0 of 29: 0.0000 to 0.1170
    ],
)
def test_published_intervals(successes: int, trials: int, low: float, high: float) -> None:
    found = wilson_interval(successes, trials)
    assert (round(found.low, 4), round(found.high, 4)) == (low, high)


def test_without_trials_nothing_is_known() -> None:
    assert wilson_interval(0, 0) == (0.0, 1.0)


def test_more_trials_narrow_the_interval() -> None:
    widths = [interval.high - interval.low for interval in (wilson_interval(n // 3, n) for n in (9, 90, 900))]
    assert widths == sorted(widths, reverse=True)
