"""The lengths of waits after failures, computed by tenacity. A message that succeeds never gets here."""

from collections.abc import Callable

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_never
from tenacity.stop import stop_base
from tenacity.wait import (
    wait_base,
    wait_exponential,
    wait_exponential_jitter,
    wait_none,
    wait_random,
    wait_random_exponential,
)

from drumbeat.engine.core.retry import Retry, Wait

RECONNECT_WAIT_S_MAX = 5.0

# The waits of NUMBER and ACCOUNT are short: they only spread the recipients, and the governor's lower rate
# protects the service. PAIR follows the protocol to the second: 1, 4, 16, 64, 256.
_WAITS: dict[Wait, wait_base] = {
    Wait.NONE: wait_none(),
    Wait.NUMBER: wait_random(0.5, 1.5),
    Wait.ACCOUNT: wait_random(20, 40),
    Wait.PAIR: wait_exponential(multiplier=1, exp_base=4, max=256),
    Wait.TRANSIENT: wait_exponential_jitter(initial=1, exp_base=2, jitter=1, max=30),
    Wait.UNREACHABLE: wait_random_exponential(multiplier=1, max=30),
}
# 10 s, 30 s, 90 s and so on up to an hour: some thirty attempts in a day.
_NOTIFICATION_WAIT = wait_exponential(multiplier=10, exp_base=3, max=3600) + wait_random(0, 5)

# 1 s, 2 s, 4 s and so on up to a minute: a program that was restarted soon hears what it missed.
_EVENT_WAIT = wait_exponential_jitter(initial=1, exp_base=2, jitter=1, max=60)


def wait_s(kind: Wait, wait_no: int, hint_s: float | None = None) -> float:
    """Return the seconds of a wait.

    `wait_no` counts the waits of this kind from 1. The wait is never shorter than `hint_s`, which the service
    named.
    """
    return max(_length_s(_WAITS[kind], wait_no), hint_s or 0.0)


def deferral_s(decision: Retry) -> float:
    """Return the seconds until a deferred recipient is due."""
    return wait_s(decision.wait, decision.wait_no, decision.hint_s)


def notification_wait_s(attempt_no: int) -> float:
    """Return the seconds until a notification is delivered again after `attempt_no` failed attempts."""
    return _length_s(_NOTIFICATION_WAIT, attempt_no)


def event_wait_s(attempt_no: int) -> float:
    """Return the seconds until events are posted to a program again after `attempt_no` failed attempts."""
    return _length_s(_EVENT_WAIT, attempt_no)


def _length_s(wait: wait_base, wait_no: int) -> float:
    state = RetryCallState(AsyncRetrying(), None, (), {})
    state.attempt_number = wait_no
    return wait(state)


def reconnecting(
    *errors: type[BaseException],
    stop: stop_base | None = None,
    before_sleep: Callable[[RetryCallState], None] | None = None,
) -> AsyncRetrying:
    """Return a retry loop with jitter: `async for connecting in reconnecting(OSError): with connecting: ...`.

    Waits grow to RECONNECT_WAIT_S_MAX. Only `errors` are retried. When `stop` ends the loop (default: never),
    the last error is raised. `before_sleep` is called after each failure, to count or report it.
    """
    return AsyncRetrying(
        retry=retry_if_exception_type(errors),
        wait=wait_random_exponential(multiplier=0.1, max=RECONNECT_WAIT_S_MAX),
        stop=stop if stop is not None else stop_never,
        before_sleep=before_sleep,
        reraise=True,
    )
