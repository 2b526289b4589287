"""The lengths of the waits on the failure path, by tenacity. Nothing here is on the path of a success."""

from __future__ import annotations

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

from engine.core.retry import Retry, Wait

RECONNECT_WAIT_S_MAX = 5.0

# NUMBER and ACCOUNT are short: the governor's rate is what protects the service, these only spread the
# recipients out again. PAIR is the protocol's row, to the second.
_WAITS: dict[Wait, wait_base] = {
    Wait.NONE: wait_none(),
    Wait.NUMBER: wait_random(0.5, 1.5),
    Wait.ACCOUNT: wait_random(20, 40),
    Wait.PAIR: wait_exponential(multiplier=1, exp_base=4, max=256),
    Wait.TRANSIENT: wait_exponential_jitter(initial=1, exp_base=2, jitter=1, max=30),
    Wait.UNREACHABLE: wait_random_exponential(multiplier=1, max=30),
}


def wait_s(kind: Wait, attempt: int, hint_s: float | None = None) -> float:
    """Seconds to wait for the `attempt`-th time (from 1) for this reason; at least the service's hint."""
    state = RetryCallState(AsyncRetrying(), None, (), {})
    state.attempt_number = attempt
    return max(_WAITS[kind](state), hint_s or 0.0)


def deferral_s(decision: Retry) -> float:
    """Seconds until a deferred recipient is due."""
    return wait_s(decision.wait, decision.attempt, decision.hint_s)


def reconnecting(
    *errors: type[BaseException],
    stop: stop_base | None = None,
    before_sleep: Callable[[RetryCallState], None] | None = None,
) -> AsyncRetrying:
    """A loop `async for attempt in reconnecting(OSError): with attempt: ...` that waits with jitter.

    Waits grow to RECONNECT_WAIT_S_MAX. Only `errors` are retried; the last one is raised when `stop` says
    so (default: never). `before_sleep` hears of each failure, to count or to report it.
    """
    return AsyncRetrying(
        retry=retry_if_exception_type(errors),
        wait=wait_random_exponential(multiplier=0.1, max=RECONNECT_WAIT_S_MAX),
        stop=stop if stop is not None else stop_never,
        before_sleep=before_sleep,
        reraise=True,
    )
