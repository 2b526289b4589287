"""Waiting for permits, in virtual time: in order, taken at the moment of writing, never after the claim expired."""

import asyncio
from itertools import pairwise

import pytest

from drumbeat.engine.core.pace.loop_load import Busyness
from drumbeat.engine.core.pace.token_bucket import TokenBucket
from drumbeat.engine.core.units import SECOND_NS
from drumbeat.engine.sending import pacer as module
from drumbeat.engine.sending.pacer import Pacer, Ticker
from tests.sending.clock import Clock

MS = SECOND_NS // 1_000
NEVER = 10**18


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "monotonic_ns", clock)
    monkeypatch.setattr(module, "suspend_aware_ns", clock)
    return clock


@pytest.fixture
def starved() -> list[int]:
    return []


@pytest.fixture
async def pacer(clock: Clock, starved: list[int]) -> Pacer:
    def on_starved(due: int, *_: bool) -> bool:
        starved.append(due)
        return True

    return Pacer(TokenBucket(100, clock.now_ns), on_starved, pytest.fail)


async def settle() -> None:
    """Let everything run that can run."""
    for _ in range(10):
        await asyncio.sleep(0)


async def play(clock: Clock, pacer: Pacer, until_ns: int, step_ns: int = MS) -> None:
    while clock.now_ns < until_ns:
        clock.now_ns += step_ns
        pacer.tick(clock.now_ns)
        await settle()


def waiter(pacer: Pacer, done: list[object], name: object, expires_ns: int = NEVER) -> "asyncio.Task[None]":
    async def wait() -> None:
        if await pacer.permit(expires_ns):
            done.append(name)
        else:
            done.append(f"{name} expired")

    return asyncio.create_task(wait())


async def test_permits_come_in_order_and_evenly(clock: Clock, pacer: Pacer) -> None:
    done: list[object] = []
    for name in range(5):
        waiter(pacer, done, name)
    await settle()
    assert done == [], "a bucket starts empty"
    await play(clock, pacer, 33 * MS)
    assert done == [0, 1, 2]
    await play(clock, pacer, 60 * MS)
    assert done == [0, 1, 2, 3, 4]


async def test_a_late_comer_does_not_overtake_who_waits(clock: Clock, pacer: Pacer) -> None:
    done: list[object] = []
    waiter(pacer, done, "first")
    await settle()
    clock.now_ns = 11 * MS  # a permit is due, and there was no tick yet
    waiter(pacer, done, "second")
    await settle()
    assert done == []
    pacer.tick(clock.now_ns)
    await settle()
    assert done == ["first"]


async def test_a_permit_is_taken_when_the_waiter_runs_not_when_it_is_woken(
    clock: Clock, pacer: Pacer
) -> None:
    """The loop stalls between the tick and the waiter's turn: the write counts from the end of the stall."""
    done: list[object] = []
    waiter(pacer, done, "stalled")
    await settle()
    clock.now_ns = 11 * MS
    pacer.tick(clock.now_ns)
    clock.now_ns += 3 * SECOND_NS  # the loop stood still before the waiter ran
    await settle()
    assert done == ["stalled"]
    taken = [pacer.bucket.take(clock.now_ns) for _ in range(100)]
    assert taken.count(True) < 99, "the write counts in this second, not in the second of the tick"


async def test_who_is_woken_in_vain_is_still_the_first(clock: Clock, pacer: Pacer) -> None:
    done: list[object] = []
    for name in ("first", "second"):
        waiter(pacer, done, name)
    await settle()
    clock.now_ns = 11 * MS
    pacer.tick(clock.now_ns)
    pacer.bucket.hold_until(20 * MS)  # between the wake-up and the take
    await settle()
    assert done == [] and pacer.waiting == 2
    await play(clock, pacer, 60 * MS)
    assert done == ["first", "second"]


async def test_a_claim_that_ran_out_is_not_written(clock: Clock, pacer: Pacer) -> None:
    done: list[object] = []
    pacer.bucket.hold_until(5 * SECOND_NS)
    for name in range(40):
        waiter(pacer, done, name, expires_ns=2 * SECOND_NS)
    waiter(pacer, done, "younger", expires_ns=NEVER)
    await settle()
    await play(clock, pacer, 2 * SECOND_NS - 20 * MS, step_ns=20 * MS)
    assert done == []
    await play(clock, pacer, 2 * SECOND_NS + 2 * MS)
    assert done == [f"{name} expired" for name in range(40)], "all at once, not one a tick"
    await play(clock, pacer, 6 * SECOND_NS, step_ns=20 * MS)
    assert done[-1] == "younger"


async def test_a_claim_that_ran_out_before_its_turn_takes_no_permit(clock: Clock, pacer: Pacer) -> None:
    clock.now_ns = 3 * SECOND_NS
    assert await pacer.permit(expires_ns=2 * SECOND_NS) is False
    assert pacer.bucket.wait_ns(clock.now_ns) == 0, "the permit is there for another"


async def test_who_is_cancelled_while_waiting_leaves_the_others_their_permits(
    clock: Clock, pacer: Pacer
) -> None:
    done: list[object] = []
    gone = waiter(pacer, done, "gone")
    waiter(pacer, done, "stays")
    await settle()
    gone.cancel()
    await settle()
    assert pacer.waiting == 1
    await play(clock, pacer, 15 * MS)
    assert done == ["stays"]


async def test_permits_without_waiters_are_offered_to_the_dispatcher(
    clock: Clock, pacer: Pacer, starved: list[int]
) -> None:
    pacer.tick(clock.now_ns)
    assert starved == []
    clock.now_ns = 31 * MS
    pacer.tick(clock.now_ns)
    assert starved == [2]


async def test_one_ticker_serves_several_numbers_and_forgets_who_leaves() -> None:
    """In real time: a removed pacer gets no more permits."""
    pacers = [
        Pacer(TokenBucket(1_000, module.monotonic_ns()), lambda *_: False, pytest.fail) for _ in range(2)
    ]
    ticker = Ticker()
    for queued in pacers:
        ticker.add(queued)
    running = asyncio.create_task(ticker.run())
    assert await asyncio.gather(*(queued.permit(NEVER) for queued in pacers * 5)) == [True] * 10
    ticker.remove(pacers[0])
    pacers[0].bucket.hold_until(module.monotonic_ns() + SECOND_NS // 100)
    alone = asyncio.create_task(pacers[0].permit(NEVER))
    assert await asyncio.gather(*(pacers[1].permit(NEVER) for _ in range(20))) == [True] * 20
    assert not alone.done()
    for task in (alone, running):
        task.cancel()
    await asyncio.gather(alone, running, return_exceptions=True)


async def test_a_number_without_a_permit_due_is_not_asked_at_every_tick(clock: Clock) -> None:
    """It is asked again in time if its rate rises or messages come meanwhile."""

    class Asked(Pacer):
        def __init__(self, rate_per_s: float, passes_ns: int = 0) -> None:
            super().__init__(TokenBucket(rate_per_s, clock.now_ns), lambda *_: True, pytest.fail)
            self.asked_ns: list[int] = []
            self._passes_ns = passes_ns

        def tick(self, now_ns: int, loop: Busyness = Busyness.CALM) -> int:
            self.asked_ns.append(now_ns)
            clock.now_ns += self._passes_ns
            return super().tick(now_ns, loop)

    fast, slow, ticker = Asked(2_000, passes_ns=2 * MS), Asked(1), Ticker()
    ticker.add(fast)
    ticker.add(slow)
    running = asyncio.create_task(ticker.run())
    async with asyncio.timeout(30):
        while len(fast.asked_ns) < 40:
            await asyncio.sleep(0.001)
    running.cancel()
    assert 4 <= len(slow.asked_ns) <= 5
    assert max(later - sooner for sooner, later in pairwise(slow.asked_ns)) <= 22 * MS
