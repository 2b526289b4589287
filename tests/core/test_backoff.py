"""The lengths of the waits, and the reconnect loop."""

from __future__ import annotations

import pytest
from tenacity import RetryCallState, stop_after_attempt

from drumbeat.engine.backoff import RECONNECT_WAIT_S_MAX, deferral_s, reconnecting, wait_s
from drumbeat.engine.core.retry import Budget, Retry, Wait


def test_a_pair_waits_in_powers_of_four() -> None:
    assert [wait_s(Wait.PAIR, attempt) for attempt in range(1, 6)] == [1, 4, 16, 64, 256]


@pytest.mark.parametrize(
    ("kind", "attempt", "least", "most"),
    [
        (Wait.NONE, 1, 0, 0),
        (Wait.NUMBER, 1, 0.5, 1.5),
        (Wait.ACCOUNT, 1, 20, 40),
        (Wait.TRANSIENT, 1, 1, 2),
        (Wait.TRANSIENT, 4, 8, 9),
        (Wait.UNREACHABLE, 1, 0, 1),
        (Wait.UNREACHABLE, 1_000, 0, 30),
    ],
)
def test_waits_stay_in_their_bounds(kind: Wait, attempt: int, least: float, most: float) -> None:
    waits = [wait_s(kind, attempt) for _ in range(200)]
    assert least <= min(waits) <= max(waits) <= most
    assert kind is Wait.NONE or len(set(waits)) > 1


def test_the_services_hint_is_a_lower_bound() -> None:
    assert wait_s(Wait.NUMBER, 1, 60.0) == 60
    assert wait_s(Wait.PAIR, 5, 2.0) == 256
    assert deferral_s(Retry(Wait.PAIR, 2, "131056", None, Budget())) == 4


async def test_a_reconnect_retries_until_it_works_with_bounded_waits() -> None:
    heard: list[float] = []

    def hear(state: RetryCallState) -> None:
        assert state.next_action is not None
        heard.append(state.next_action.sleep)

    calls = 0
    retrying = reconnecting(OSError, before_sleep=hear)
    retrying.sleep = no_sleep  # type: ignore[assignment]
    async for attempt in retrying:
        with attempt:
            calls += 1
            if calls < 30:
                raise OSError("refused")
    assert calls == 30
    assert len(heard) == 29
    assert max(heard) <= RECONNECT_WAIT_S_MAX


async def test_a_reconnect_raises_other_errors_at_once_and_its_own_at_the_end() -> None:
    with pytest.raises(KeyError):
        async for attempt in reconnecting(OSError):
            with attempt:
                raise KeyError("other")
    stopped = reconnecting(OSError, stop=stop_after_attempt(2))
    stopped.sleep = no_sleep  # type: ignore[assignment]
    with pytest.raises(OSError, match="refused"):
        async for attempt in stopped:
            with attempt:
                raise OSError("refused")


async def no_sleep(_: float) -> None:
    return None
