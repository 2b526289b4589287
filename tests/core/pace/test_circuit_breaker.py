"""The circuit breaker: an accident changes nothing, an outage stops claims, one message probes for its end."""

import pytest

from engine.core.outcome import Accepted, NotSent, Outcome, Rejected, Scope, Throttled, Transient, Unknown
from engine.core.pace.circuit_breaker import (
    BREAKS_IN_A_ROW,
    DOWNTIME_S_MAX,
    FAILURES_IN_A_ROW,
    CircuitBreaker,
)
from engine.core.units import SECOND_NS

UNREACHABLE = NotSent("connection refused", unreachable=True)
DOWN = Transient(131016, "down")
THROTTLED = Throttled(Scope.NUMBER, 130429, None, "")
DECISIONS = (Accepted("w"), Rejected(Scope.RECIPIENT, 131026, "131026", ""))


@pytest.fixture
def breaker() -> CircuitBreaker:
    """It waits 1 s after the first opening, 2 s after the second, and so on."""
    return CircuitBreaker(float)


def fail(breaker: CircuitBreaker, times: int, now_ns: int = 0, outcome: Outcome = UNREACHABLE) -> list[bool]:
    return [breaker.record(outcome, now_ns) for _ in range(times)]


@pytest.mark.parametrize("failure", [UNREACHABLE, Unknown("reset")])
def test_failures_in_a_row_open_it_once(breaker: CircuitBreaker, failure: Outcome) -> None:
    opened = fail(breaker, BREAKS_IN_A_ROW + 3, outcome=failure)
    assert opened == [False] * (BREAKS_IN_A_ROW - 1) + [True] + [False] * 3
    assert breaker.is_open(0) and breaker.tripped
    assert breaker.reason == failure.reason  # type: ignore[union-attr]


@pytest.mark.parametrize("answer", [*DECISIONS, THROTTLED])
def test_any_answer_of_the_service_closes_it(breaker: CircuitBreaker, answer: Outcome) -> None:
    fail(breaker, BREAKS_IN_A_ROW - 1)
    assert not breaker.record(answer, 0)
    fail(breaker, BREAKS_IN_A_ROW - 1)
    assert not breaker.tripped, "not in a row"
    fail(breaker, 1)
    breaker.record(answer, 0)
    assert not breaker.tripped


def test_failures_that_the_service_reports_open_it_later_and_once(breaker: CircuitBreaker) -> None:
    opened = fail(breaker, FAILURES_IN_A_ROW + 3, outcome=DOWN)
    assert opened == [False] * (FAILURES_IN_A_ROW - 1) + [True] + [False] * 3
    assert breaker.reason == "down (131016)"


@pytest.mark.parametrize("answer", DECISIONS)
def test_a_decision_on_a_message_ends_a_downtime(breaker: CircuitBreaker, answer: Outcome) -> None:
    fail(breaker, FAILURES_IN_A_ROW - 1, outcome=DOWN)
    breaker.record(answer, 0)
    fail(breaker, FAILURES_IN_A_ROW - 1, outcome=DOWN)
    assert not breaker.tripped, "not in a row"
    fail(breaker, 1, outcome=DOWN)
    breaker.record(answer, 0)
    assert not breaker.tripped and not breaker.is_downtime(0)


def test_throttles_and_breaks_between_the_failures_hide_no_downtime(breaker: CircuitBreaker) -> None:
    for _ in range(FAILURES_IN_A_ROW // 2):
        fail(breaker, 1, outcome=DOWN)
        fail(breaker, 1)
        fail(breaker, 1, outcome=THROTTLED)
    assert breaker.tripped
    assert fail(breaker, 1, outcome=THROTTLED) == [False] and breaker.tripped


def test_failures_are_the_services_for_a_while_and_then_count_against_recipients_again(
    breaker: CircuitBreaker,
) -> None:
    begun_ns = 7 * SECOND_NS
    fail(breaker, FAILURES_IN_A_ROW - 1, begun_ns, DOWN)
    assert not breaker.is_downtime(begun_ns)
    fail(breaker, 1, begun_ns, DOWN)
    over_ns = begun_ns + int(DOWNTIME_S_MAX * SECOND_NS)
    assert breaker.is_downtime(over_ns - 1) and not breaker.is_downtime(over_ns)


def test_further_failures_do_not_prolong_the_time_in_which_they_are_the_services(
    breaker: CircuitBreaker,
) -> None:
    """Otherwise a few recipients that always fail, the last of their campaign, would keep it from its end."""
    begun_ns = 7 * SECOND_NS
    fail(breaker, FAILURES_IN_A_ROW, begun_ns, DOWN)
    over_ns = begun_ns + int(DOWNTIME_S_MAX * SECOND_NS)
    fail(breaker, 1, over_ns - 1, DOWN)
    assert breaker.tripped and not breaker.is_downtime(over_ns)


@pytest.mark.parametrize("decision", DECISIONS)
def test_a_later_downtime_counts_from_its_own_start(breaker: CircuitBreaker, decision: Outcome) -> None:
    """Otherwise its failures would count against the recipients, and every recipient tried in it would fail."""
    fail(breaker, 1, SECOND_NS, DOWN)
    breaker.record(decision, SECOND_NS)
    later_ns = SECOND_NS + int(DOWNTIME_S_MAX * SECOND_NS)
    fail(breaker, FAILURES_IN_A_ROW, later_ns, DOWN)
    assert breaker.is_downtime(later_ns)


def test_a_later_outage_begins_with_the_shortest_wait(breaker: CircuitBreaker) -> None:
    for opening in range(4):
        fail(breaker, BREAKS_IN_A_ROW, opening * 60 * SECOND_NS)
    later_ns = 3_600 * SECOND_NS
    breaker.record(Accepted("w"), later_ns)
    fail(breaker, BREAKS_IN_A_ROW, later_ns)
    assert breaker.is_open(later_ns + SECOND_NS - 1) and not breaker.is_open(later_ns + SECOND_NS)


def test_it_opens_for_a_while_even_if_the_wait_is_zero() -> None:
    breaker = CircuitBreaker(lambda opening: 0.0)
    fail(breaker, BREAKS_IN_A_ROW)
    assert breaker.is_open(SECOND_NS // 5 - 1) and not breaker.is_open(SECOND_NS // 5)


def test_after_each_wait_a_failed_probe_waits_longer(breaker: CircuitBreaker) -> None:
    fail(breaker, BREAKS_IN_A_ROW)
    assert breaker.is_open(SECOND_NS - 1) and not breaker.is_open(SECOND_NS)
    assert breaker.tripped, "a single message probes"
    assert fail(breaker, 1, SECOND_NS) == [True]
    assert breaker.is_open(3 * SECOND_NS - 1) and not breaker.is_open(3 * SECOND_NS)


def test_a_service_that_says_when_to_come_back_is_not_tried_before(breaker: CircuitBreaker) -> None:
    fail(breaker, FAILURES_IN_A_ROW - 1, outcome=Transient(131016, "down", wait_s=600))
    assert not breaker.is_open(0), "failures of a few recipients stop nobody"
    assert fail(breaker, 1, outcome=Transient(131016, "down", wait_s=60)) == [True]
    assert fail(breaker, 1, 599 * SECOND_NS, DOWN) == [False], "one that was in flight"
    assert breaker.is_open(600 * SECOND_NS - 1) and not breaker.is_open(600 * SECOND_NS)


def test_a_long_wait_that_the_service_asks_for_is_bounded(breaker: CircuitBreaker) -> None:
    fail(breaker, FAILURES_IN_A_ROW, outcome=Transient(131016, "down", wait_s=86_400))
    over_ns = int(DOWNTIME_S_MAX * SECOND_NS)
    assert breaker.is_open(over_ns - 1) and not breaker.is_open(over_ns)


@pytest.mark.parametrize("decision", DECISIONS)
def test_a_decision_on_a_message_ends_the_wait_that_it_asked_for(
    breaker: CircuitBreaker, decision: Outcome
) -> None:
    fail(breaker, FAILURES_IN_A_ROW, outcome=Transient(131016, "down", wait_s=600))
    breaker.record(decision, SECOND_NS)
    assert not breaker.is_open(SECOND_NS), "one that was in flight"
    fail(breaker, FAILURES_IN_A_ROW, SECOND_NS, DOWN)
    assert breaker.is_open(SECOND_NS) and not breaker.is_open(2 * SECOND_NS)


def test_what_this_process_did_not_send_says_nothing(breaker: CircuitBreaker) -> None:
    for ours in (NotSent("claim expired"), NotSent("too many open files", exhausted=True)):
        assert not any(fail(breaker, 2 * FAILURES_IN_A_ROW, outcome=ours)), "no outage is reported"
    assert not breaker.tripped
