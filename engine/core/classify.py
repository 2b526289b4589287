"""One table says what each error code means for the flow. Source: open point "Errors".

Classify by `error.code`; the HTTP status decides only where there is no code to read, and where the reply
cannot be trusted either way: 3xx, and 2xx without the name of a message, leave the recipient in doubt.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from errno import EMFILE, ENFILE

from engine.core.outcome import Accepted, NotSent, Outcome, Rejected, Scope, Throttled, Transient, Unknown

# A number flagged for spam is released by the service after about a day; it gives no time of its own.
SPAM_SUSPENSION_S = 24 * 3600.0


class Action(Enum):
    THROTTLE = auto()
    TRANSIENT = auto()
    REJECT = auto()


@dataclass(frozen=True, slots=True)
class Rule:
    """What a code asks for."""

    action: Action
    scope: Scope
    systematic: bool = False
    suppress: bool = False
    suspend_s: float | None = None


_STOP_ACCOUNT = Rule(Action.REJECT, Scope.ACCOUNT)
_STOP_NUMBER = Rule(Action.REJECT, Scope.NUMBER)
_STOP_CAMPAIGN = Rule(Action.REJECT, Scope.TEMPLATE)
_FAIL = Rule(Action.REJECT, Scope.RECIPIENT)
_FAIL_SYSTEMATIC = Rule(Action.REJECT, Scope.RECIPIENT, systematic=True)
_TRY_AGAIN = Rule(Action.TRANSIENT, Scope.RECIPIENT)
_SLOW_ACCOUNT = Rule(Action.THROTTLE, Scope.ACCOUNT)

RULES: dict[int, Rule] = {
    **dict.fromkeys((0, 190, 104), _STOP_ACCOUNT),  # the token
    **dict.fromkeys((3, 10, *range(200, 300)), _STOP_ACCOUNT),  # its permissions
    **dict.fromkeys((368, 131031, 131042), _STOP_ACCOUNT),  # the account: blocked, locked, unpaid
    **dict.fromkeys((4, 17, 80007), _SLOW_ACCOUNT),
    130429: Rule(Action.THROTTLE, Scope.NUMBER),
    131056: Rule(Action.THROTTLE, Scope.PAIR),
    131048: Rule(Action.REJECT, Scope.NUMBER, suspend_s=SPAM_SUSPENSION_S),
    **dict.fromkeys((131045, 133010, 133000, 33), _STOP_NUMBER),
    **dict.fromkeys((131016, 131000, 2, 1, 131057, 133004), _TRY_AGAIN),
    **dict.fromkeys((132001, 132015, 132016), _STOP_CAMPAIGN),
    **dict.fromkeys((132000, 132012), _FAIL_SYSTEMATIC),
    **dict.fromkeys((100, 131008, 131009, 131051, 131052, 131053), _FAIL_SYSTEMATIC),
    **dict.fromkeys((131026, 131030, 131047, 131021, 130472, 130497, 131049), _FAIL),
    131050: Rule(Action.REJECT, Scope.RECIPIENT, suppress=True),
}

_EXHAUSTED = (EMFILE, ENFILE)
_RULE_OF_STATUS: dict[int, Rule] = {
    401: _STOP_ACCOUNT,
    403: _STOP_ACCOUNT,
    408: _TRY_AGAIN,  # it gave up reading the request, so that nobody was accepted
    429: RULES[130429],
}


def classify(
    status: int,
    code: int | None,
    detail: str,
    wamid: str | None,
    wait_s: float | None,
    *,
    held: bool = False,
) -> Outcome:
    """The outcome of a complete reply. `wait_s`: seconds until the service wants to hear from us again."""
    if 200 <= status < 300 and wamid is not None:
        return Accepted(wamid, held)
    if wamid is not None:
        return Unknown(f"HTTP {status} beside the name of a message")
    if not 400 <= status < 600:
        return Unknown(f"HTTP {status} without the name of a message")
    rule = _rule(status, code)
    if rule is None:
        return Unknown(f"HTTP {status}, code {code}" if code is not None else f"HTTP {status} without a code")
    return _outcome(rule, status, code, detail, wait_s)


def not_connected(reason: str, number: int | None) -> NotSent:
    """The outcome where no connection came about; `number`: the system's, of the error."""
    exhausted = number in _EXHAUSTED
    return NotSent(reason, unreachable=not exhausted, exhausted=exhausted)


def silences(code: int | None) -> bool:
    """Whether a person asked for silence and gets nothing more, in a reply as in a status."""
    rule = None if code is None else RULES.get(code)
    return rule is not None and rule.suppress


def _rule(status: int, code: int | None) -> Rule | None:
    """The rule of a refusal, or None where the service may have failed after it accepted."""
    if code is not None and code in RULES:
        return RULES[code]
    if status >= 500:
        return None
    # Without a code a gateway may have refused, or a wrong path; a code that nobody knows may be about the
    # template, the version or the account. What is no recipient's fault comes in a row.
    return _FAIL_SYSTEMATIC if code is not None else _RULE_OF_STATUS.get(status, _FAIL_SYSTEMATIC)


def _outcome(rule: Rule, status: int, code: int | None, detail: str, wait_s: float | None) -> Outcome:
    if rule.action is Action.THROTTLE:
        return Throttled(rule.scope, code, wait_s, detail)
    if rule.action is Action.TRANSIENT:
        return Transient(code, detail, wait_s)
    return Rejected(
        scope=rule.scope,
        code=code,
        name=str(code) if code is not None else f"http_{status}",
        detail=detail,
        wait_s=wait_s or rule.suspend_s,
        systematic=rule.systematic,
        suppress=rule.suppress,
        suspend=rule.suspend_s is not None,
    )
