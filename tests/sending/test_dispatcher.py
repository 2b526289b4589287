"""The dispatcher: as many in-flight requests as rate and latency need, and an outcome for every message.

Every test runs with a transport that reuses no connection, and with one that does.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count

import pytest

from drumbeat.engine.api.transport import PermitGate
from drumbeat.engine.clock import monotonic_ns, suspend_aware_ns
from drumbeat.engine.core.outcome import Accepted, NotSent, Unknown
from drumbeat.engine.core.pace.in_flight import IN_FLIGHT_MIN
from drumbeat.engine.core.pace.loop_load import Busyness, LoopLoad
from drumbeat.engine.core.pace.token_bucket import SLACK_NS, TokenBucket
from drumbeat.engine.core.units import SECOND_NS
from drumbeat.engine.sending.dispatcher import Dispatcher
from drumbeat.engine.sending.pacer import Ticker
from tests.sending.fakes import FakeTransport, Outcomes, claimed
from tests.sending.running import until


@pytest.fixture(params=[False, True], ids=["slow path", "fast path"])
def transport(request: pytest.FixtureRequest) -> FakeTransport:
    return FakeTransport(keeps=request.param)


@pytest.fixture
def outcomes() -> Outcomes:
    return Outcomes()


@asynccontextmanager
async def sending(
    transport: FakeTransport,
    outcomes: Outcomes,
    rate_per_s: float = 2_000,
    bucket: TokenBucket | None = None,
) -> AsyncIterator[Dispatcher]:
    dispatcher = Dispatcher("1", transport, bucket or TokenBucket(rate_per_s, monotonic_ns()), outcomes)
    ticker = Ticker()
    ticker.add(dispatcher.pacer)
    running = asyncio.create_task(ticker.run())
    try:
        yield dispatcher
    finally:
        dispatcher.release_queue()
        dispatcher.abort()
        await asyncio.wait_for(dispatcher.idle(), 10)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_every_message_is_written_once_in_order(transport: FakeTransport, outcomes: Outcomes) -> None:
    async with sending(transport, outcomes) as dispatcher:
        dispatcher.send([claimed(seq) for seq in range(200)])
        await dispatcher.idle()
    assert transport.written == list(range(200))
    assert outcomes.by_seq == {seq: Accepted(f"wamid.{seq}") for seq in range(200)}
    assert None not in outcomes.written_ns.values()


async def test_kept_connections_carry_nearly_everything(outcomes: Outcomes) -> None:
    transport = FakeTransport(keeps=True)
    async with sending(transport, outcomes) as dispatcher:
        dispatcher.send([claimed(seq) for seq in range(200)])
        await dispatcher.idle()
    assert transport.fast >= 200 - 2_000 * SLACK_NS / SECOND_NS, "all but the connections of one burst"
    assert len(transport.free) == 200 - transport.fast


async def test_in_flight_requests_follow_rate_times_latency(
    transport: FakeTransport, outcomes: Outcomes
) -> None:
    async with sending(transport, outcomes, rate_per_s=400) as dispatcher:
        dispatcher.send([claimed(seq) for seq in range(100)])
        await dispatcher.idle()
        transport.latency_s, transport.most_open = 0.3, 0
        dispatcher.send([claimed(seq) for seq in range(100, 5_000)])
        await until(lambda: transport.open > 60)  # of 120, rate times latency
        dispatcher.release_queue()
        await dispatcher.idle()
        transport.latency_s, transport.most_open = 0.0, 0
        before = len(transport.written)
        dispatcher.send([claimed(seq) for seq in range(5_000, 5_200)])
        await until(lambda: len(transport.written) - before >= 190)
        assert transport.most_open <= 400 * SLACK_NS / SECOND_NS + 1, "one burst after a stall, no more"
        await dispatcher.idle()


async def test_a_service_that_queues_what_it_cannot_answer_is_not_given_ever_more(
    transport: FakeTransport, outcomes: Outcomes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("drumbeat.engine.core.pace.in_flight.CAP_S", 0.5)
    # On a busy machine the load of the loop may limit the requests. That is not the limit tested here.
    monkeypatch.setattr(LoopLoad, "observe", lambda *_: Busyness.CALM)
    transport.answers_per_s = 400
    async with sending(transport, outcomes) as dispatcher:
        dispatcher.send([claimed(seq) for seq in range(20_000)])
        await until(lambda: len(outcomes.by_seq) > 800)  # two seconds of its replies: the bound is known
        await until(lambda: transport.open < 220)  # half a second of its replies, some more by chance
        assert dispatcher.queue.unwritten > 10_000, "not for want of messages"


async def test_in_flight_requests_are_bounded_when_nobody_answers(
    transport: FakeTransport, outcomes: Outcomes
) -> None:
    transport.hold = asyncio.Event()
    async with sending(transport, outcomes, rate_per_s=50) as dispatcher:
        later = suspend_aware_ns() + 60_000_000_000
        dispatcher.pacer.bucket.set_limit(50, monotonic_ns())
        dispatcher.send([claimed(seq, later) for seq in range(40)])
        await until(lambda: transport.open == 40)
        assert dispatcher.queue.unfinished == 40 and dispatcher.queue.unwritten == 0
        transport.hold.set()
        await dispatcher.idle()
    assert len(outcomes.by_seq) == 40


async def test_connections_are_opened_as_many_again_as_wait_for_a_reply(
    transport: FakeTransport, outcomes: Outcomes
) -> None:
    transport.hold, transport.connecting = asyncio.Event(), asyncio.Event()
    async with sending(transport, outcomes, rate_per_s=1_000) as dispatcher:
        dispatcher.send([claimed(seq) for seq in range(200)])
        await until(lambda: dispatcher.queue.connecting >= IN_FLIGHT_MIN)
        dispatcher.serve(100)
        assert dispatcher.queue.connecting == IN_FLIGHT_MIN, "all begin: no more at once"
        transport.connecting.set()
        await until(lambda: transport.open > 4 * IN_FLIGHT_MIN)
        dispatcher.release_queue()
        transport.hold.set()
        await dispatcher.idle()
    assert len(outcomes.by_seq) == 200


async def test_what_is_released_was_certainly_not_sent(transport: FakeTransport, outcomes: Outcomes) -> None:
    transport.hold = asyncio.Event()
    async with sending(transport, outcomes, rate_per_s=100) as dispatcher:
        dispatcher.send([claimed(seq) for seq in range(100)])
        await until(lambda: len(transport.written) >= 10)
        dispatcher.release_queue()
        transport.hold.set()
        await dispatcher.idle()
        assert dispatcher.queue.unwritten == dispatcher.queue.unfinished == 0
    assert len(outcomes.by_seq) == 100
    sent = {seq for seq, outcome in outcomes.by_seq.items() if isinstance(outcome, Accepted)}
    assert sent == set(transport.written)
    others = [outcome for seq, outcome in outcomes.by_seq.items() if seq not in sent]
    assert set(others) == {NotSent("drained")}


async def test_an_abort_accounts_for_everybody(transport: FakeTransport, outcomes: Outcomes) -> None:
    """Written without a reply: in doubt. In a lane before its permit: not sent."""
    transport.hold = asyncio.Event()
    async with sending(transport, outcomes, rate_per_s=100) as dispatcher:
        dispatcher.send([claimed(seq) for seq in range(100)])
        await until(lambda: len(transport.written) >= 10)
        dispatcher.release_queue()
        dispatcher.abort()
        await dispatcher.idle()
    assert len(outcomes.by_seq) == 100
    in_doubt = {seq for seq, outcome in outcomes.by_seq.items() if isinstance(outcome, Unknown)}
    assert in_doubt == set(transport.written)
    assert all(isinstance(outcomes.by_seq[seq], NotSent) for seq in set(range(100)) - in_doubt)


async def test_an_abort_before_a_connection_is_there_leaves_nobody_in_doubt(
    transport: FakeTransport, outcomes: Outcomes
) -> None:
    transport.connecting = asyncio.Event()
    async with sending(transport, outcomes) as dispatcher:
        dispatcher.send([claimed(seq) for seq in range(IN_FLIGHT_MIN)])
        await until(
            lambda: dispatcher.queue.connecting == IN_FLIGHT_MIN or dispatcher.queue.unwritten < IN_FLIGHT_MIN
        )
        dispatcher.release_queue()
        dispatcher.abort()
        await dispatcher.idle()
    assert set(outcomes.by_seq.values()) == {NotSent("drained")}


async def test_an_abort_in_the_moment_in_which_lanes_take_messages_accounts_for_them(
    transport: FakeTransport, outcomes: Outcomes
) -> None:
    """New lanes that have not run yet, and lanes that served before."""
    async with sending(transport, outcomes) as dispatcher:
        for begin in (0, 100):
            dispatcher.send([claimed(seq) for seq in range(begin, begin + 20)])
            dispatcher.serve(5)
            dispatcher.release_queue()
            dispatcher.abort()
            await asyncio.wait_for(dispatcher.idle(), 10)
            assert len(outcomes.by_seq) == begin // 100 * 40 + 20
            dispatcher.send([claimed(seq) for seq in range(begin + 50, begin + 70)])
            await asyncio.wait_for(dispatcher.idle(), 10)
    assert len(outcomes.by_seq) == 80
    assert dispatcher.queue.unwritten == dispatcher.queue.unfinished == 0


async def test_a_claim_that_grew_old_in_the_queue_is_not_written(
    transport: FakeTransport, outcomes: Outcomes
) -> None:
    async with sending(transport, outcomes) as dispatcher:
        dispatcher.send([claimed(0)])
        await dispatcher.idle()  # its kept connection serves the fast path now
        dispatcher.send([claimed(1, suspend_aware_ns() - 1), claimed(2)])
        await dispatcher.idle()
    assert transport.written == [0, 2]
    assert transport.fast == transport.keeps, "message 2, where a connection was kept"
    del outcomes.by_seq[0]
    assert outcomes.by_seq == {1: NotSent("claim expired"), 2: Accepted("wamid.2")}


async def test_a_transport_that_raises_loses_nobody(transport: FakeTransport, outcomes: Outcomes) -> None:
    def explode(seq: int) -> Accepted:
        if seq % 3 == 0:
            raise RuntimeError("a bug")
        return Accepted(f"wamid.{seq}")

    transport.reply = explode
    async with sending(transport, outcomes) as dispatcher:
        dispatcher.send([claimed(seq) for seq in range(30)])
        await dispatcher.idle()
    assert len(outcomes.by_seq) == 30
    in_doubt = {seq for seq, outcome in outcomes.by_seq.items() if isinstance(outcome, Unknown)}
    assert in_doubt == set(range(0, 30, 3)), "it may have been accepted: never sent again by itself"


async def test_a_transport_that_raises_before_it_writes_leaves_nobody_in_doubt(outcomes: Outcomes) -> None:
    class Broken(FakeTransport):
        async def send(self, phone_number_id: str, payload: bytes, gate: object) -> Accepted:  # type: ignore[override]
            raise RuntimeError("a bug")

    async with sending(Broken(), outcomes) as dispatcher:
        dispatcher.send([claimed(seq) for seq in range(5)])
        await dispatcher.idle()
        assert dispatcher.queue.unwritten == dispatcher.queue.unfinished == 0
    assert all(isinstance(outcome, NotSent) for outcome in outcomes.by_seq.values())


async def test_what_was_not_sent_after_its_permit_has_no_time_of_writing(outcomes: Outcomes) -> None:
    """Its connection broke between the two: it is no request, and there is no latency to measure."""
    lost = NotSent("the connection was lost before the request", unreachable=True)

    class Losing(FakeTransport):
        async def send(self, phone_number_id: str, payload: bytes, gate: PermitGate) -> NotSent:
            assert await gate()
            return lost

    async with sending(Losing(), outcomes) as dispatcher:
        dispatcher.send([claimed(seq) for seq in range(5)])
        await dispatcher.idle()
    assert outcomes.by_seq == dict.fromkeys(range(5), lost)
    assert set(outcomes.written_ns.values()) == {None}


async def test_it_signals_when_it_runs_low(transport: FakeTransport, outcomes: Outcomes) -> None:
    async with sending(transport, outcomes, rate_per_s=500) as dispatcher:
        dispatcher.queue.low_below = 10
        dispatcher.send([claimed(seq) for seq in range(40)])
        dispatcher.queue.low.clear()
        await asyncio.wait_for(dispatcher.queue.low.wait(), 10)
        assert dispatcher.queue.unwritten < 10
        assert len(transport.written) > 25
        await dispatcher.idle()


class RecordingBucket(TokenBucket):
    """Keeps the arrivals that it was given."""

    def __init__(self, limit_per_s: float, now_ns: int) -> None:
        super().__init__(limit_per_s, now_ns)
        self.arrivals: list[tuple[int, int]] = []

    def count_from_arrival(self, written_ns: int, arrived_ns: int) -> None:
        self.arrivals.append((written_ns, arrived_ns))
        super().count_from_arrival(written_ns, arrived_ns)


async def test_the_request_of_a_late_reply_counts_from_its_arrival(
    transport: FakeTransport, outcomes: Outcomes
) -> None:
    bucket = RecordingBucket(2_000, monotonic_ns())
    async with sending(transport, outcomes, bucket=bucket) as dispatcher:
        seqs = count()

        async def late_ns() -> int:
            """Send one whose reply is held for a while; returns when it came."""
            transport.hold = asyncio.Event()
            dispatcher.send([claimed(next(seqs))])
            await until(lambda: transport.open == 1)
            held_ns = monotonic_ns()
            await until(lambda: monotonic_ns() > held_ns + SECOND_NS // 20)
            transport.hold.set()
            await dispatcher.idle()
            return monotonic_ns()

        async with asyncio.timeout(60):
            while not bucket.arrivals:  # until a calm loop has measured the usual delay
                for _ in range(10):
                    dispatcher.send([claimed(next(seqs))])
                    await dispatcher.idle()
                    dispatcher.learn()
                bucket.arrivals.clear()
                replied_ns = await late_ns()
        [(written_ns, arrived_ns)] = bucket.arrivals
        assert written_ns == max(outcomes.written_ns.values())
        assert written_ns < arrived_ns < replied_ns
