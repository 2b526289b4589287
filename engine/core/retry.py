"""The decision about a recipient after a setback: in doubt, failed, or another attempt after a wait.

Law: a throttle of the number or the account costs the recipient no attempt, nor does a request that was not
written. A recipient fails at the fifth transient failure; failures during a downtime do not count. A pair
throttle waits five times and fails at the sixth (protocol: 1, 4, 16, 64, 256 s). This module chooses the kind
of wait and counts it; `engine.backoff` computes its length.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from drumbeat.engine.core.outcome import NotSent, Rejected, Scope, Setback, Throttled, Transient, Unknown

TRANSIENT_ATTEMPTS_MAX = 5
# If an attempt in doubt has no event for this long while its number has others, it was probably not sent. The
# service reports nearly every status within a quarter of an hour.
SILENCE_S = 900.0
PAIR_WAITS_MAX = 5


class Wait(StrEnum):
    """The reason of a wait; it decides how long. NONE: until its number, account or campaign resumes."""

    NONE = "none"
    NUMBER = "number"
    ACCOUNT = "account"
    PAIR = "pair"
    TRANSIENT = "transient"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, slots=True)
class Budget:
    """The setbacks of each kind that a recipient had before the present outcome."""

    pair_throttles: int = 0
    transient_failures: int = 0
    unreachable: int = 0


@dataclass(frozen=True, slots=True)
class InDoubt:
    """The decision that the message may have been accepted.

    Only the campaign's policy or a person can order another attempt.
    """

    reason: str


@dataclass(frozen=True, slots=True)
class Fail:
    """The decision that nothing was accepted, and no attempt follows. `name`: a code, or `http_<status>`."""

    name: str
    detail: str
    suppress: bool = False


@dataclass(frozen=True, slots=True)
class Retry:
    """The decision that nothing was accepted, and that another attempt follows.

    `wait_no` counts the waits of this kind, from 1. `hint_s` is the wait that the service asked for, a lower
    bound. `spent` is stored for the next decision.
    """

    wait: Wait
    wait_no: int
    reason: str
    hint_s: float | None
    spent: Budget


Decision = Fail | InDoubt | Retry


def decide(outcome: Setback, spent: Budget, *, downtime: bool = False) -> Decision:
    """Decide after one outcome. `spent` has the setbacks of earlier attempts.

    `downtime`: the service fails for every recipient now, so a failure does not count against this one.
    """
    match outcome:
        case Unknown(reason=reason):
            return InDoubt(reason)
        case Throttled():
            return _after_throttle(outcome, spent)
        case Transient() if downtime:
            return _out_of_reach(_name(outcome.code, "transient"), outcome.wait_s, spent)
        case Transient():
            return _after_transient(outcome, spent)
        case Rejected():
            return _after_rejection(outcome, spent)
        case NotSent():
            return _after_not_sent(outcome, spent)
        case _:
            assert_never(outcome)


def _after_throttle(outcome: Throttled, spent: Budget) -> Decision:
    name = _name(outcome.code, "throttled")
    if outcome.scope is not Scope.PAIR:
        wait = Wait.ACCOUNT if outcome.scope is Scope.ACCOUNT else Wait.NUMBER
        return Retry(wait, 1, name, outcome.wait_s, spent)
    throttles = spent.pair_throttles + 1
    if throttles > PAIR_WAITS_MAX:
        return Fail(name, outcome.detail)
    counted = Budget(throttles, spent.transient_failures, spent.unreachable)
    return Retry(Wait.PAIR, throttles, name, outcome.wait_s, counted)


def _after_transient(outcome: Transient, spent: Budget) -> Decision:
    name = _name(outcome.code, "transient")
    failures = spent.transient_failures + 1
    if failures >= TRANSIENT_ATTEMPTS_MAX:
        return Fail(name, outcome.detail)
    counted = Budget(spent.pair_throttles, failures, spent.unreachable)
    return Retry(Wait.TRANSIENT, failures, name, outcome.wait_s, counted)


def _after_rejection(outcome: Rejected, spent: Budget) -> Decision:
    """Decide after a rejection. One of the recipient fails it. Any other stops more than that, and the
    recipient waits.
    """
    if outcome.scope is Scope.RECIPIENT:
        return Fail(outcome.name, outcome.detail, outcome.suppress)
    return Retry(Wait.NONE, 1, outcome.name, None, spent)


def _after_not_sent(outcome: NotSent, spent: Budget) -> Decision:
    if not (outcome.unreachable or outcome.exhausted):
        return Retry(Wait.NONE, 1, outcome.reason, None, spent)
    return _out_of_reach(outcome.reason, None, spent)


def _out_of_reach(reason: str, hint_s: float | None, spent: Budget) -> Retry:
    times = spent.unreachable + 1
    counted = Budget(spent.pair_throttles, spent.transient_failures, times)
    return Retry(Wait.UNREACHABLE, times, reason, hint_s, counted)


def _name(code: int | None, otherwise: str) -> str:
    return otherwise if code is None else str(code)
