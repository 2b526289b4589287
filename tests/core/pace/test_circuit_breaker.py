"""The circuit breaker: an accident changes nothing, an outage stops claims, one message probes for its end."""

import pytest

from drumbeat.engine.core.outcome import (
    Accepted,
    NotSent,
    Outcome,
    Rejected,
    Scope,
    Throttled,
    Transient,
    Unknown,
)
from drumbeat.engine.core.pace.circuit_breaker import (
    BREAKS_IN_A_ROW,
    DOWNTIME_S_MAX,
    FAILURES_IN_A_ROW,
    OPEN_S_MIN,
    CircuitBreaker,
)
from drumbeat.engine.core.units import SECOND_NS

UNREACHABLE = NotSent("connection refused", unreachable=True)
LOST = Unknown("reset")
DOWN = Transient(131016, "down")
THROTTLED = Throttled(Scope.NUMBER, 130429, None, "")
ACCEPTED, REJECTED = Accepted("w"), Rejected(Scope.RECIPIENT, 131026, "131026", "")
EXPIRED, EXHAUSTED = NotSent("claim expired"), NotSent("too many open files", exhausted=True)
BREAKS, FAILURES, HOUR = BREAKS_IN_A_ROW, FAILURES_IN_A_ROW, DOWNTIME_S_MAX

Step = tuple[Outcome, int, float]
"""(outcome, how many of them, at which second)."""


def asked(wait_s: float) -> Transient:
    return Transient(131016, "down", wait_s)


def after(*steps: Step) -> CircuitBreaker:
    """It waits 1 s after the first opening, 2 s after the second, and so on."""
    breaker = CircuitBreaker(float)
    for outcome, times, at_s in steps:
        for _ in range(times):
            breaker.record(outcome, int(at_s * SECOND_NS))
    return breaker


@pytest.mark.parametrize(
    ("failure", "times", "reason"),
    [
        (UNREACHABLE, BREAKS, "connection refused"),
        (LOST, BREAKS, "reset"),
        (DOWN, FAILURES, "down (131016)"),
    ],
)
def test_failures_in_a_row_open_it_once(failure: Outcome, times: int, reason: str) -> None:
    breaker = after()
    opened = [breaker.record(failure, 0) for _ in range(times + 3)]
    assert opened == [False] * (times - 1) + [True] + [False] * 3
    assert breaker.is_open(0) and breaker.tripped
    assert breaker.reason == reason


ANSWERS, DECISIONS = (ACCEPTED, REJECTED, THROTTLED), (ACCEPTED, REJECTED)


@pytest.mark.parametrize(
    ("steps", "tripped"),
    [
        *[([(UNREACHABLE, BREAKS - 1, 0), (answer, 1, 0), (LOST, BREAKS - 1, 0)], False) for answer in ANSWERS],
        *[([(UNREACHABLE, BREAKS, 0), (answer, 1, 0)], False) for answer in ANSWERS],
        *[([(DOWN, FAILURES - 1, 0), (decision, 1, 0), (DOWN, FAILURES - 1, 0)], False) for decision in DECISIONS],
        *[([(DOWN, FAILURES, 0), (decision, 1, 0)], False) for decision in DECISIONS],
        pytest.param([(DOWN, FAILURES, 0), (THROTTLED, 1, 0)], True, id="a throttle decides on nobody"),
        pytest.param([(DOWN, 1, 0), (LOST, 1, 0), (THROTTLED, 1, 0)] * (FAILURES // 2), True, id="throttles and breaks in between"),
        pytest.param([(EXPIRED, 2 * FAILURES, 0)], False, id="this process did not send"),
        pytest.param([(EXHAUSTED, 2 * FAILURES, 0)], False, id="this process had no descriptor"),
    ],
)  # fmt: skip
def test_whether_claims_go_one_by_one(steps: list[Step], tripped: bool) -> None:
    breaker = after(*steps)
    assert breaker.tripped == tripped
    assert not breaker.is_downtime(0) or tripped


@pytest.mark.parametrize(
    ("steps", "until_s"),
    [
        pytest.param([(LOST, BREAKS, 0)], 1, id="the first wait"),
        pytest.param([(LOST, BREAKS, 0), (LOST, 1, 1)], 3, id="longer after a failed probe"),
        pytest.param([*[(LOST, BREAKS, 60 * turn) for turn in range(4)], (ACCEPTED, 1, HOUR), (LOST, BREAKS, HOUR)], HOUR + 1, id="a later outage: the first wait again"),
        pytest.param([(asked(600), FAILURES - 1, 0), (asked(60), 1, 0)], 600, id="as the service asked"),
        pytest.param([(asked(600), FAILURES, 0), (DOWN, 1, 599)], 600, id="as asked, whatever was in flight"),
        pytest.param([(asked(86_400), FAILURES, 0)], HOUR, id="as asked, up to an hour"),
        *[([(asked(600), FAILURES, 0), (decision, 1, 1), (DOWN, FAILURES, 1)], 2) for decision in DECISIONS],
    ],
)  # fmt: skip
def test_until_when_it_is_open(steps: list[Step], until_s: float) -> None:
    breaker = after(*steps)
    assert breaker.is_open(int(until_s * SECOND_NS) - 1) and not breaker.is_open(int(until_s * SECOND_NS))
    assert breaker.tripped, "a single message probes"


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param([(asked(600), FAILURES - 1, 0)], id="few recipients that fail stop nobody"),
        pytest.param([(asked(600), FAILURES, 0), (ACCEPTED, 1, 1)], id="a decision ends the wait that was asked for"),
        pytest.param([(asked(600), FAILURES, 0), (REJECTED, 1, 1)], id="a refusal ends it too"),
    ],
)  # fmt: skip
def test_when_a_wait_that_the_service_asks_for_does_not_count(steps: list[Step]) -> None:
    assert not after(*steps).is_open(SECOND_NS)


@pytest.mark.parametrize("failure", [UNREACHABLE, LOST])
def test_it_opens_for_a_while_even_if_the_wait_is_zero(failure: Outcome) -> None:
    breaker = CircuitBreaker(lambda opening: 0.0)
    for _ in range(BREAKS):
        breaker.record(failure, 0)
    until_ns = int(OPEN_S_MIN * SECOND_NS)
    assert breaker.is_open(until_ns - 1) and not breaker.is_open(until_ns)


@pytest.mark.parametrize(
    ("steps", "from_s", "until_s"),
    [
        pytest.param([(DOWN, FAILURES, 7)], 7, 7 + HOUR, id="for an hour"),
        pytest.param([(DOWN, FAILURES, 7), (DOWN, 1, 6 + HOUR)], 7, 7 + HOUR, id="further failures do not prolong it"),
        *[([(DOWN, 1, 1), (decision, 1, 1), (DOWN, FAILURES, HOUR)], HOUR, 2 * HOUR) for decision in DECISIONS],
    ],
)  # fmt: skip
def test_while_failures_are_the_services_own(steps: list[Step], from_s: float, until_s: float) -> None:
    """If later failures prolonged a downtime, a few recipients that always fail would keep a campaign from its end.
    If a later downtime counted from the first failure ever, its recipients would fail for it.
    """
    breaker, until_ns = after(*steps), int(until_s * SECOND_NS)
    assert breaker.is_downtime(int(from_s * SECOND_NS)) and breaker.is_downtime(until_ns - 1)
    assert not breaker.is_downtime(until_ns) and breaker.tripped


def test_a_few_failures_are_no_downtime() -> None:
    assert not after((DOWN, FAILURES - 1, 7)).is_downtime(7 * SECOND_NS)
