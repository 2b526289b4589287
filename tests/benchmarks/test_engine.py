"""The rate that a bench reports of a number, by the times of its messages."""

import pytest

from drumbeat.benchmarks.senders.engine import steady_per_s


@pytest.mark.parametrize(
    ("messages", "span_s", "whole_s", "per_s"),
    [
        pytest.param(951, 9.5, 9.5, 100, id="steady"),
        pytest.param(20, 19 / 20, 20 / 20, 20, id="slow: the last of all came a message later"),
        pytest.param(2, 60e-6, 1.5, 2, id="a stall, and two messages right at its end"),
        pytest.param(1, 0.0, 1.5, 0, id="one message is no rate"),
        pytest.param(2, 0.001, 0.0, 0, id="all within the start"),
    ],
)
def test_a_rate_is_never_more_than_the_whole_time_bears(
    messages: int, span_s: float, whole_s: float, per_s: float
) -> None:
    """A report of 528 messages a second once showed 6,523 % of a limit of 2,000."""
    assert steady_per_s(messages, span_s, whole_s) == pytest.approx(per_s)
