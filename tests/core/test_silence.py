"""From when on an attempt in doubt is probably not sent: the silence counts only while other events arrive."""

from datetime import UTC, datetime, timedelta

import pytest

from drumbeat.engine.core.silence import GAP_S, probably_not_sent_at

NOW = datetime(2026, 1, 2, 12, 0, tzinfo=UTC)
SILENCE_S = 900.0


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("begins_ago_s", "last_event_ago_s", "in_s"),
    [
        (100, 0, 800),
        (100, GAP_S - 1, 800),
        (100, GAP_S, None),  # no events arrive: the time stands still
        (100, None, None),  # none ever arrived
        (1_000, 0, -100),
        (5_000, 4_100, -4_100),  # they arrived for long enough, and ended then
        (5_000, 4_101, None),
    ],
)
def test_the_time_is_told_while_events_arrive(
    begins_ago_s: float, last_event_ago_s: float | None, in_s: float | None
) -> None:
    last = None if last_event_ago_s is None else ago(last_event_ago_s)
    expected = None if in_s is None else NOW + timedelta(seconds=in_s)
    assert probably_not_sent_at(ago(begins_ago_s), last, SILENCE_S, NOW) == expected
