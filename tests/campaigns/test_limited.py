"""What limited a campaign, by what its numbers sent."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest

from drumbeat.campaigns.results.limited import LimitedBy, what_limited

BEGAN = datetime(2026, 1, 2, tzinfo=UTC)


@dataclass(frozen=True)
class Number:
    limit_per_s: float = 100.0
    attempts: int = 990
    throttled: int = 0
    active_s: float = 10.0
    cpu_s: float = 1.0
    first_attempt_at: datetime | None = BEGAN
    last_attempt_at: datetime | None = BEGAN + timedelta(seconds=10)


SLOW = replace(Number(), attempts=500)


@pytest.mark.parametrize(
    ("numbers", "by"),
    [
        ([Number()], LimitedBy.PACE),
        ([replace(Number(), throttled=50)], LimitedBy.PACE),
        ([replace(SLOW, throttled=5)], LimitedBy.THROTTLES),
        ([replace(SLOW, cpu_s=9.0)], LimitedBy.MACHINE),
        ([replace(SLOW, cpu_s=4.5)] * 2, LimitedBy.MACHINE),
        ([SLOW], LimitedBy.OTHER),
        ([Number(), replace(SLOW, limit_per_s=1.0, attempts=10)], LimitedBy.PACE),
    ],
)
def test_what_limited_it(numbers: list[Number], by: LimitedBy) -> None:
    found = what_limited(numbers)
    assert found is not None and (found.by, bool(found.words)) == (by, True)


def test_how_long_it_was_slowed_and_idle() -> None:
    """Five seconds more than at the limit, and an hour without a request."""
    waited = replace(SLOW, last_attempt_at=BEGAN + timedelta(seconds=3_610))
    found = what_limited([waited])
    assert found is not None and (found.slowed_s, found.idle_s) == (5.0, 3_600.0)
    busy = what_limited([waited, SLOW])
    assert busy is not None and busy.idle_s == 0.0, "another number sent meanwhile"


def test_too_little_tells_nothing() -> None:
    assert what_limited([]) is None
    assert what_limited([replace(Number(), active_s=4.9)]) is None
    assert what_limited([replace(Number(), attempts=0)]) is None
