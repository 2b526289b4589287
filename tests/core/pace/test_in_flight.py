"""In-flight requests follow rate × latency: no setting, no flood of connections, and no service is drowned."""

from typing import Any

import pytest

from drumbeat.engine.core.pace.in_flight import (
    CAP_S,
    EXTRA_PERIOD_NS,
    IN_FLIGHT_MAX,
    IN_FLIGHT_MIN,
    LATENCY_S_MAX,
    SLOT_NS,
    SPARE,
    UNBOUNDED,
    InFlightLimit,
    SendState,
)
from drumbeat.engine.core.pace.loop_load import Busyness
from drumbeat.engine.core.units import SECOND_NS
from tests.core.pace.queueing_service import QueueingService

MS = 1_000_000
REPLY_S_MAX = 30.0  # a reply that takes longer is given up


@pytest.mark.parametrize(
    ("limit_per_s", "answers_per_s"), [(1_000, 100), (1_000, 10), (80, 5), (80, 40), (20, 1)]
)
def test_a_service_that_queues_what_it_cannot_answer_is_not_drowned(
    limit_per_s: float, answers_per_s: float
) -> None:
    service = QueueingService(limit_per_s, answers_per_s, latency_s=0.05)
    service.run(40)
    assert service.run(40) == pytest.approx(answers_per_s, rel=0.05), "it always has enough to answer"
    assert service.longest_s < REPLY_S_MAX, "no request times out"
    assert service.in_flight <= 1 + max(IN_FLIGHT_MIN, 1.1 * CAP_S * answers_per_s)


@pytest.mark.parametrize("answers_per_s", [10, 100])
def test_a_service_that_begins_to_queue_is_not_drowned(answers_per_s: float) -> None:
    service = QueueingService(1_000, 5_000, latency_s=0.05)
    assert service.run(5) > 950
    service.answers_per_s = answers_per_s
    service.run(60)
    before_s, service.longest_s = service.longest_s, 0.0
    service.run(20)
    assert service.in_flight <= 1 + max(IN_FLIGHT_MIN, 1.1 * CAP_S * answers_per_s)
    assert service.longest_s < 2 * CAP_S < REPLY_S_MAX
    if answers_per_s == 100:
        assert before_s < REPLY_S_MAX


@pytest.mark.parametrize(("limit_per_s", "latency_s"), [(1_000, 1.0), (1_000, 0.005), (250, 3.0), (20, 2.0)])
def test_a_slow_service_gets_all_that_is_permitted(limit_per_s: float, latency_s: float) -> None:
    service = QueueingService(limit_per_s, 100_000, latency_s)
    service.run(3 * latency_s + 1)
    assert service.run(10) >= 0.99 * limit_per_s


def test_a_service_that_becomes_slow_gets_all_that_is_permitted_again() -> None:
    service = QueueingService(1_000, 100_000, latency_s=0.005)
    service.run(5)
    service.latency_s = 1.0
    service.run(4)
    assert service.run(10) >= 990


def test_a_service_whose_few_slow_replies_hold_most_connections_gets_all_that_is_permitted() -> None:
    """The median alone would allow ten in-flight requests, and this service needs 105."""
    service = QueueingService(1_000, 100_000, lambda chance: 1.0 if chance.random() < 0.1 else 0.005)
    service.run(10)
    assert service.run(20) >= 970


def test_a_raised_limit_takes_effect_within_seconds_whatever_was_answered_before() -> None:
    service = QueueingService(80, 100_000, latency_s=1.0)
    service.run(5)
    service.limit_per_s = 1_000
    service.run(2)
    assert service.run(5) >= 950


@pytest.mark.parametrize(("latency_s", "needed"), [(0.005, IN_FLIGHT_MIN), (0.3, 300)])
def test_a_stall_opens_no_more_connections_than_twice_the_need(latency_s: float, needed: int) -> None:
    service = QueueingService(1_000, 100_000, latency_s)
    service.run(5)
    for _ in range(10):
        service.stall(0.4)
        service.run(1)
    assert service.opened <= SPARE * needed + 10 * 400 * MS / EXTRA_PERIOD_NS


def allowed(limit: InFlightLimit, in_flight: int = 0, **others: Any) -> int:
    state = {"now_ns": 0, "connecting": 0, "rate_per_s": 1_000, "limit_per_s": 1_000, **others}
    return limit.connections_allowed(SendState(in_flight=in_flight, **state))


def most(limit: InFlightLimit, **others: Any) -> int:
    """How many are in flight when no more are allowed; a message that is connecting gets no extra connection."""
    in_flight = 0
    while (more := allowed(limit, in_flight, connecting=1, **others)) > 0:
        in_flight += more
    return in_flight + 1


def after(*latencies_ns: int) -> InFlightLimit:
    limit = InFlightLimit()
    for latency_ns in latencies_ns:
        limit.observe_latency(latency_ns)
    return limit


SLOW, FAST = [500 * MS] * 50, [MS] * 50


@pytest.mark.parametrize(
    ("state", "connections"),
    [
        pytest.param({}, IN_FLIGHT_MIN, id="a few at first"),
        pytest.param({"connecting": IN_FLIGHT_MIN - 1}, 1, id="less those that connect"),
        pytest.param({"in_flight": 100}, 100, id="as many again as are in flight"),
        pytest.param({"in_flight": 100, "connecting": 40}, 60, id="as many again, less those that connect"),
        pytest.param({"in_flight": 300, "rate_per_s": 10, "limit_per_s": 100}, 100 * LATENCY_S_MAX - 300, id="up to the limit × 4 s"),
        pytest.param({"connecting": 2, "loop": Busyness.FULL}, IN_FLIGHT_MIN - 2, id="a full core: a few"),
        pytest.param({"in_flight": IN_FLIGHT_MIN, "loop": Busyness.FULL}, 0, id="a full core: no more"),
    ],
)  # fmt: skip
def test_how_many_connections_while_the_latency_is_unknown(state: dict[str, Any], connections: int) -> None:
    assert allowed(InFlightLimit(), **state) == connections


@pytest.mark.parametrize(
    ("latencies", "state", "in_flight"),
    [
        pytest.param(SLOW, {}, 1_000 * 0.5 * SPARE, id="rate × latency × spare"),
        pytest.param(SLOW, {"rate_per_s": 100}, 100 * 0.5 * SPARE, id="the rate counts, not the limit"),
        pytest.param([10 * SECOND_NS] * 50, {"rate_per_s": 100, "limit_per_s": 100}, 100 * LATENCY_S_MAX, id="at most the limit × 4 s"),
        pytest.param([], {"rate_per_s": 5_000, "limit_per_s": 5_000}, IN_FLIGHT_MAX, id="never more than the maximum"),
        pytest.param(FAST, {}, IN_FLIGHT_MIN, id="a fast service needs few"),
        pytest.param([MS] * 200 + [500 * MS] * 40, {}, 1_000, id="forty slower replies are followed"),
        pytest.param([500 * MS] * 200 + [MS] * 40, {}, IN_FLIGHT_MIN, id="forty faster replies are followed"),
        pytest.param(SLOW, {"loop": Busyness.FULL}, IN_FLIGHT_MIN, id="a full core"),
        pytest.param(SLOW, {"loop": Busyness.LATE}, 1_000, id="late ticks: another process has the core"),
        pytest.param(SLOW, {"loop": Busyness.FULL, "connections_reused": False}, 1_000, id="each message opens a connection, in a busy loop"),
        pytest.param(SLOW, {"connections_reused": False}, IN_FLIGHT_MAX, id="each message opens a connection: latency is no bound"),
    ],
)  # fmt: skip
def test_how_many_requests_are_in_flight_at_most(
    latencies: list[int], state: dict[str, Any], in_flight: float
) -> None:
    assert most(after(*latencies), **state) == pytest.approx(in_flight, rel=0.1)


def test_uneven_replies_ask_for_no_more_connections() -> None:
    """Ten of a hundred replies wait for a tenth of a second: the mean would be 11 ms."""
    assert most(after(*([MS] * 90 + [100 * MS] * 10) * 20)) <= 2 * IN_FLIGHT_MIN


def test_where_that_is_too_little_one_more_each_period_but_not_in_a_busy_loop() -> None:
    limit, now_ns = after(*FAST), 5 * SECOND_NS
    assert allowed(limit, IN_FLIGHT_MIN, now_ns=now_ns, loop=Busyness.LATE) == 0
    assert allowed(limit, IN_FLIGHT_MIN, now_ns=now_ns, connecting=1) == 0
    assert allowed(limit, IN_FLIGHT_MIN, now_ns=now_ns) == 1
    assert allowed(limit, IN_FLIGHT_MIN + 1, now_ns=now_ns + EXTRA_PERIOD_NS - 1) == 0
    assert allowed(limit, IN_FLIGHT_MIN + 1, now_ns=now_ns + EXTRA_PERIOD_NS) == 1
    assert allowed(limit, IN_FLIGHT_MAX, now_ns=now_ns + 9 * EXTRA_PERIOD_NS) == 0


def test_the_cap_is_unknown_before_replies_came_for_a_while_and_after_a_time_without_requests() -> None:
    limit = InFlightLimit()
    assert limit.writes_allowed(5 * SECOND_NS, 0) == UNBOUNDED
    limit.replied(5 * SECOND_NS, 7)
    assert limit.writes_allowed(5 * SECOND_NS + SLOT_NS - 1, 0) == UNBOUNDED
    assert limit.writes_allowed(5 * SECOND_NS + SLOT_NS, 0) == int(7 * CAP_S * SECOND_NS / SLOT_NS)
    limit.went_idle()
    assert limit.writes_allowed(6 * SECOND_NS, 0) == UNBOUNDED
    limit.replied(9 * SECOND_NS, 1)
    assert limit.writes_allowed(9 * SECOND_NS + SLOT_NS, 0) == int(CAP_S * SECOND_NS / SLOT_NS)


@pytest.mark.parametrize(
    ("later_ns", "share"),
    [(0, 1.0), (SLOT_NS, 7 / 8), (4 * SLOT_NS, 0.5), (8 * SLOT_NS, 0.0), (SECOND_NS * 3600, 0.0)],
)
def test_the_cap_counts_the_replies_of_two_seconds(later_ns: int, share: float) -> None:
    limit = InFlightLimit()
    limit.replied(0, 0)
    for slot in range(1, 41):
        limit.replied(slot * SLOT_NS, 25)
    now_ns = 10 * SECOND_NS + SLOT_NS - 1 + later_ns
    cap = max(IN_FLIGHT_MIN, 100 * CAP_S * share)
    assert limit.writes_allowed(now_ns, 0) == pytest.approx(cap, rel=0.02, abs=1)
    assert limit.writes_allowed(now_ns, int(cap) + 100) == 0
