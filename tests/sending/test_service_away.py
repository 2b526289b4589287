"""A service that does not answer is the reason why campaigns and numbers wait, and nothing is permitted then."""

from drumbeat.engine.app import _find_away
from drumbeat.engine.core.outcome import Accepted, Unknown
from drumbeat.engine.core.pace.circuit_breaker import BREAKS_IN_A_ROW, CircuitBreaker
from drumbeat.engine.core.states import WAITS, ReasonCode


def test_it_is_a_wait_that_lets_probes_through_and_ends_with_an_answer() -> None:
    breaker = CircuitBreaker(lambda _: 1.0)
    assert _find_away(breaker) is None
    for _ in range(BREAKS_IN_A_ROW):
        breaker.record(Unknown("the connection broke"), 0)
    block = _find_away(breaker)
    assert block is not None
    assert (block.code, block.stops) == (ReasonCode.SERVICE_AWAY, False)
    assert block.code in WAITS
    breaker.record(Accepted("wamid.1"), 1)
    assert _find_away(breaker) is None
