"""The decision after each outcome, and its effect on the recipient's budget, attempt by attempt."""

from __future__ import annotations

import pytest

from drumbeat.engine.core.classify import classify
from drumbeat.engine.core.outcome import NotSent, Rejected, Scope, Setback, Throttled, Transient, Unknown
from drumbeat.engine.core.retry import TRANSIENT_ATTEMPTS_MAX, Budget, Fail, InDoubt, Retry, Wait, decide

NONE = Budget()


def follow(outcome: Setback, most: int) -> list[Retry | Fail]:
    """Apply the same outcome repeatedly, until the recipient fails, at most `most` times."""
    spent, met = NONE, []
    for _ in range(most):
        decision = decide(outcome, spent)
        assert isinstance(decision, Retry | Fail)
        met.append(decision)
        if isinstance(decision, Fail):
            break
        spent = decision.spent
    return met


def test_what_may_have_been_accepted_is_in_doubt() -> None:
    assert decide(Unknown("reset"), NONE) == InDoubt("reset")


def test_a_pair_waits_five_times_and_fails_at_the_sixth() -> None:
    met = follow(Throttled(Scope.PAIR, 131056, None, "slow"), 10)
    assert [(step.wait, step.wait_no) for step in met[:-1] if isinstance(step, Retry)] == [
        (Wait.PAIR, attempt) for attempt in range(1, 6)
    ]
    assert met[-1] == Fail("131056", "slow")
    assert len(met) == 6


def test_a_recipient_fails_at_the_fifth_transient_failure() -> None:
    met = follow(Transient(131016, "down"), 10)
    assert len(met) == 5
    assert met[-1] == Fail("131016", "down")
    assert [step.wait_no for step in met if isinstance(step, Retry)] == [1, 2, 3, 4]


def test_a_downtime_of_the_service_costs_no_attempt() -> None:
    spent = Budget(pair_throttles=1, transient_failures=4, unreachable=2)
    decision = decide(Transient(131016, "down"), spent, downtime=True)
    assert decision == Retry(Wait.UNREACHABLE, 3, "131016", None, Budget(1, 4, 3))
    assert isinstance(decide(Transient(131016, "down"), spent), Fail)


@pytest.mark.parametrize(
    ("outcome", "wait"),
    [
        (Throttled(Scope.NUMBER, 130429, 3.0, ""), Wait.NUMBER),
        (Throttled(Scope.NUMBER, None, None, ""), Wait.NUMBER),
        (Throttled(Scope.ACCOUNT, 80007, None, ""), Wait.ACCOUNT),
        (NotSent("claim expired"), Wait.NONE),
        (Rejected(Scope.NUMBER, 131045, "131045", ""), Wait.NONE),
        (Rejected(Scope.ACCOUNT, 190, "190", ""), Wait.NONE),
        (Rejected(Scope.TEMPLATE, 132015, "132015", ""), Wait.NONE),
    ],
)
def test_a_setback_that_is_not_the_recipients_fault_costs_no_attempt(outcome: Setback, wait: Wait) -> None:
    met = follow(outcome, 50)
    assert len(met) == 50
    for step in met:
        assert isinstance(step, Retry)
        assert (step.wait, step.spent) == (wait, NONE)


def test_an_unreachable_service_means_longer_waits_and_never_a_failure() -> None:
    met = follow(NotSent("refused", unreachable=True), 40)
    assert [step.wait_no for step in met if isinstance(step, Retry)] == list(range(1, 41))


def test_a_lack_of_descriptors_waits_like_an_unreachable_service() -> None:
    met = follow(NotSent("too many open files", exhausted=True), 40)
    assert [step.wait for step in met if isinstance(step, Retry)] == [Wait.UNREACHABLE] * 40


def test_budgets_are_counted_separately() -> None:
    spent = Budget(pair_throttles=4, transient_failures=3, unreachable=9)
    fifth = decide(Throttled(Scope.PAIR, 131056, None, ""), spent)
    fourth = decide(Transient(2, ""), spent)
    assert isinstance(fifth, Retry)
    assert isinstance(fourth, Retry)
    assert fifth.spent == Budget(5, 3, 9)
    assert fourth.spent == Budget(4, 4, 9)


def test_a_recipient_of_a_suspended_number_may_go_to_another_number() -> None:
    decision = decide(Rejected(Scope.NUMBER, 131048, "131048", "", wait_s=86_400, suspend=True), NONE)
    assert decision == Retry(Wait.NONE, 1, "131048", None, NONE)


def test_the_wait_that_the_service_asks_for_is_passed_on() -> None:
    throttles = [Throttled(scope, None, 3.0, "") for scope in (Scope.NUMBER, Scope.PAIR, Scope.ACCOUNT)]
    for outcome in (*throttles, Transient(131016, "down", 3.0)):
        for downtime in (False, True):
            decision = decide(outcome, NONE, downtime=downtime)
            assert isinstance(decision, Retry)
            assert decision.hint_s == 3


def test_a_recipients_rejection_fails_it_and_may_suppress() -> None:
    rejected = Rejected(Scope.RECIPIENT, 131050, "131050", "stop", suppress=True)
    assert decide(rejected, NONE) == Fail("131050", "stop", suppress=True)


@pytest.mark.parametrize(
    "code",
    [
        0,
        104,
        190,
        3,
        10,
        200,
        299,
        368,
        131031,
        131042,
        33,
        131045,
        133000,
        133010,
        131048,
        132001,
        132015,
        132016,
    ],
)
def test_a_refusal_that_says_nothing_about_the_recipient_gives_the_recipient_back(code: int) -> None:
    """However often a person resumes too early, it spends no attempt."""
    spent = Budget(transient_failures=TRANSIENT_ATTEMPTS_MAX - 1)
    outcome = classify(400, code, "why", None, None)
    assert isinstance(outcome, Rejected)
    assert decide(outcome, spent) == Retry(Wait.NONE, 1, str(code), None, spent)
