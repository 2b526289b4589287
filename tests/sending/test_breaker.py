"""The breaker, in virtual time: an accident is nothing, an outage stops claims, one message finds its end."""

import pytest

from engine import breaker as module
from engine.breaker import BREAKS_IN_A_ROW, DOWNTIME_S_MAX, FAILURES_IN_A_ROW, Breaker
from engine.clock import SECOND_NS
from engine.core.outcome import Accepted, NotSent, Outcome, Rejected, Scope, Throttled, Transient, Unknown

UNREACHABLE = NotSent("connection refused", unreachable=True)
DOWN = Transient(131016, "down")
THROTTLED = Throttled(Scope.NUMBER, 130429, None, "")
DECISIONS = (Accepted("w"), Rejected(Scope.RECIPIENT, 131026, "131026", ""))


@pytest.fixture
def breaker(monkeypatch: pytest.MonkeyPatch) -> Breaker:
    monkeypatch.setattr(module, "wait_s", lambda kind, opening: float(opening))
    return Breaker()


def fail(breaker: Breaker, times: int, now_ns: int = 0, outcome: Outcome = UNREACHABLE) -> list[bool]:
    return [breaker.record(outcome, now_ns) for _ in range(times)]


@pytest.mark.parametrize("failure", [UNREACHABLE, Unknown("reset")])
def test_failures_in_a_row_open_it_once(breaker: Breaker, failure: Outcome) -> None:
    opened = fail(breaker, BREAKS_IN_A_ROW + 3, outcome=failure)
    assert opened == [False] * (BREAKS_IN_A_ROW - 1) + [True] + [False] * 3
    assert breaker.is_open(0) and breaker.suspicious
    assert breaker.reason == failure.reason  # type: ignore[union-attr]


@pytest.mark.parametrize("answer", [*DECISIONS, THROTTLED])
def test_any_answer_of_the_service_closes_it(breaker: Breaker, answer: Outcome) -> None:
    fail(breaker, BREAKS_IN_A_ROW - 1)
    assert not breaker.record(answer, 0)
    fail(breaker, BREAKS_IN_A_ROW - 1)
    assert not breaker.suspicious, "not in a row"
    fail(breaker, 1)
    breaker.record(answer, 0)
    assert not breaker.suspicious


def test_failures_that_the_service_names_open_it_later_and_once(breaker: Breaker) -> None:
    opened = fail(breaker, FAILURES_IN_A_ROW + 3, outcome=DOWN)
    assert opened == [False] * (FAILURES_IN_A_ROW - 1) + [True] + [False] * 3
    assert breaker.reason == "down (131016)"


@pytest.mark.parametrize("answer", DECISIONS)
def test_whatever_the_service_decides_on_a_message_ends_a_downtime(breaker: Breaker, answer: Outcome) -> None:
    fail(breaker, FAILURES_IN_A_ROW - 1, outcome=DOWN)
    breaker.record(answer, 0)
    fail(breaker, FAILURES_IN_A_ROW - 1, outcome=DOWN)
    assert not breaker.suspicious, "not in a row"
    fail(breaker, 1, outcome=DOWN)
    breaker.record(answer, 0)
    assert not breaker.suspicious and not breaker.is_downtime(0)


def test_throttles_and_breaks_between_the_failures_hide_no_downtime(breaker: Breaker) -> None:
    for _ in range(FAILURES_IN_A_ROW // 2):
        fail(breaker, 1, outcome=DOWN)
        fail(breaker, 1)
        fail(breaker, 1, outcome=THROTTLED)
    assert breaker.suspicious
    assert fail(breaker, 1, outcome=THROTTLED) == [False] and breaker.suspicious


def test_failures_are_the_services_for_a_while_and_then_the_recipients_own_again(breaker: Breaker) -> None:
    begun_ns = 7 * SECOND_NS
    fail(breaker, FAILURES_IN_A_ROW - 1, begun_ns, DOWN)
    assert not breaker.is_downtime(begun_ns)
    fail(breaker, 1, begun_ns, DOWN)
    over_ns = begun_ns + int(DOWNTIME_S_MAX * SECOND_NS)
    assert breaker.is_downtime(over_ns - 1) and not breaker.is_downtime(over_ns)


def test_further_failures_do_not_prolong_the_time_in_which_they_are_the_services(breaker: Breaker) -> None:
    """Else a few whom it fails for ever, the last of their campaign, would keep the campaign from its end."""
    begun_ns = 7 * SECOND_NS
    fail(breaker, FAILURES_IN_A_ROW, begun_ns, DOWN)
    over_ns = begun_ns + int(DOWNTIME_S_MAX * SECOND_NS)
    fail(breaker, 1, over_ns - 1, DOWN)
    assert breaker.suspicious and not breaker.is_downtime(over_ns)


@pytest.mark.parametrize("decision", DECISIONS)
def test_a_later_downtime_is_judged_by_its_own_begin(breaker: Breaker, decision: Outcome) -> None:
    """Else its failures would be the recipients' own, and all who are tried in it would fail."""
    fail(breaker, 1, SECOND_NS, DOWN)
    breaker.record(decision, SECOND_NS)
    later_ns = SECOND_NS + int(DOWNTIME_S_MAX * SECOND_NS)
    fail(breaker, FAILURES_IN_A_ROW, later_ns, DOWN)
    assert breaker.is_downtime(later_ns)


def test_a_later_outage_begins_with_the_shortest_wait(breaker: Breaker) -> None:
    for opening in range(4):
        fail(breaker, BREAKS_IN_A_ROW, opening * 60 * SECOND_NS)
    later_ns = 3_600 * SECOND_NS
    breaker.record(Accepted("w"), later_ns)
    fail(breaker, BREAKS_IN_A_ROW, later_ns)
    assert breaker.is_open(later_ns + SECOND_NS - 1) and not breaker.is_open(later_ns + SECOND_NS)


def test_it_opens_for_a_while_even_where_the_wait_is_none(
    breaker: Breaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "wait_s", lambda kind, opening: 0.0)
    fail(breaker, BREAKS_IN_A_ROW)
    assert breaker.is_open(SECOND_NS // 5 - 1) and not breaker.is_open(SECOND_NS // 5)


def test_after_each_wait_a_failed_probe_waits_longer(breaker: Breaker) -> None:
    fail(breaker, BREAKS_IN_A_ROW)
    assert breaker.is_open(SECOND_NS - 1) and not breaker.is_open(SECOND_NS)
    assert breaker.suspicious, "a single message finds out"
    assert fail(breaker, 1, SECOND_NS) == [True]
    assert breaker.is_open(3 * SECOND_NS - 1) and not breaker.is_open(3 * SECOND_NS)


def test_a_service_that_says_when_to_come_back_is_not_tried_before(breaker: Breaker) -> None:
    fail(breaker, FAILURES_IN_A_ROW - 1, outcome=Transient(131016, "down", wait_s=600))
    assert not breaker.is_open(0), "failures of a few recipients stop nobody"
    assert fail(breaker, 1, outcome=Transient(131016, "down", wait_s=60)) == [True]
    assert fail(breaker, 1, 599 * SECOND_NS, DOWN) == [False], "one that was under way"
    assert breaker.is_open(600 * SECOND_NS - 1) and not breaker.is_open(600 * SECOND_NS)


def test_it_is_not_believed_for_ever(breaker: Breaker) -> None:
    fail(breaker, FAILURES_IN_A_ROW, outcome=Transient(131016, "down", wait_s=86_400))
    over_ns = int(DOWNTIME_S_MAX * SECOND_NS)
    assert breaker.is_open(over_ns - 1) and not breaker.is_open(over_ns)


@pytest.mark.parametrize("decision", DECISIONS)
def test_a_decision_on_a_message_ends_the_wait_that_it_asked_for(breaker: Breaker, decision: Outcome) -> None:
    fail(breaker, FAILURES_IN_A_ROW, outcome=Transient(131016, "down", wait_s=600))
    breaker.record(decision, SECOND_NS)
    assert not breaker.is_open(SECOND_NS), "one that was under way"
    fail(breaker, FAILURES_IN_A_ROW, SECOND_NS, DOWN)
    assert breaker.is_open(SECOND_NS) and not breaker.is_open(2 * SECOND_NS)


def test_what_we_did_not_send_ourselves_says_nothing(breaker: Breaker) -> None:
    for ours in (NotSent("permit expired"), NotSent("too many open files", exhausted=True)):
        assert not any(fail(breaker, 2 * FAILURES_IN_A_ROW, outcome=ours)), "nobody is told of an outage"
    assert not breaker.suspicious
