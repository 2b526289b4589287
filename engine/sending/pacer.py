"""The waits for permits to write, number by number, from one ticker for the whole process.

The token bucket decides (`engine.core.pace`); this file only waits. A waiter takes its permit itself, just
before it writes: a permit taken before a stall would count for the wrong moment.
"""

import asyncio
from collections import deque
from collections.abc import Callable

from drumbeat.engine.clock import SECOND_NS, cpu_ns, monotonic_ns, suspend_aware_ns
from drumbeat.engine.core.pace.loop_load import Busyness, LoopLoad
from drumbeat.engine.core.pace.token_bucket import TokenBucket

# The shortest wait. The loop's timers count in milliseconds, and the schedule forgives many: shorter waits
# would only cost.
TICK_S_MIN = 0.002
# Replies wait while the loop writes, so in a process with many busy numbers some wait for the next turn.
TURN_NS_MAX = 4_000_000
# The longest time without a look at a number with nothing to send. Meanwhile its rate may rise, or messages
# may come.
TICK_NS_MAX = SECOND_NS // 50


class Pacer:
    """The permits of one number.

    `on_due(n, loop)` is called when n permits are due beyond those that somebody waits for. It may take
    permits from the bucket, and returns False if there is nothing to send. `on_failure` gets the error that a
    tick raises; the other numbers of the process continue. `on_look(now_ns)` is called at each tick, at least
    every TICK_NS_MAX.
    """

    def __init__(
        self,
        bucket: TokenBucket,
        on_due: Callable[[int, Busyness], bool],
        on_failure: Callable[[Exception], None],
        on_look: Callable[[int], None] = lambda _: None,
    ) -> None:
        self.bucket = bucket
        self.on_failure = on_failure
        self._on_due = on_due
        self._on_look = on_look
        self._loop = asyncio.get_running_loop()
        # the waiters, each with the time when its claim expires
        self._waiters: deque[tuple[asyncio.Future[None], int]] = deque()

    @property
    def waiting(self) -> int:
        return len(self._waiters)

    async def permit(self, expires_ns: int) -> bool:
        """Wait for the next permit and take it. False if the claim expires first.

        `expires_ns` is on the suspend-aware clock. Write at once after True: the permit is for this moment.
        """
        first, woken = not self._waiters, False
        while suspend_aware_ns() < expires_ns:
            if (first or woken) and self.bucket.take(monotonic_ns()):
                return True
            waiter = (self._loop.create_future(), expires_ns)
            if woken:
                self._waiters.appendleft(waiter)  # it found no permit, and has still waited the longest
            else:
                self._waiters.append(waiter)
            try:
                await waiter[0]
            except asyncio.CancelledError:
                if waiter in self._waiters:
                    self._waiters.remove(waiter)
                raise
            woken = True
        return False

    def tick(self, now_ns: int, loop: Busyness = Busyness.CALM) -> int:
        """Wake the waiters whose permits are due, and return the nanoseconds until the next useful tick."""
        self._on_look(now_ns)
        if self._waiters:
            self._wake_expired()
        due = self.bucket.available(now_ns)
        for _ in range(min(due, len(self._waiters))):
            self._wake_first()
            due -= 1
        if due and not self._on_due(due, loop):
            return SECOND_NS
        return self.bucket.wait_ns(now_ns)

    def _wake_expired(self) -> None:
        now_ns = suspend_aware_ns()
        while self._waiters and now_ns >= self._waiters[0][1]:
            self._wake_first()

    def _wake_first(self) -> None:
        future, _ = self._waiters.popleft()
        if not future.done():
            future.set_result(None)


class Ticker:
    """A timer for all pacers of a process. Each pacer is asked when its next permit is due.

    Of many slow numbers, only few have a permit due at any tick.
    """

    def __init__(self) -> None:
        self._next_ns: dict[Pacer, int] = {}  # the time when each is asked next

    def add(self, pacer: Pacer) -> None:
        self._next_ns[pacer] = 0

    def remove(self, pacer: Pacer) -> None:
        del self._next_ns[pacer]

    async def run(self) -> None:
        """Tick until cancelled."""
        planned_ns = monotonic_ns()
        load = LoopLoad(planned_ns, cpu_ns())
        while True:
            now_ns = monotonic_ns()
            wait_s = self._tick(now_ns, load.observe(now_ns, cpu_ns(), now_ns - planned_ns))
            planned_ns = monotonic_ns() + int(wait_s * SECOND_NS)
            await asyncio.sleep(wait_s)

    def _tick(self, now_ns: int, loop: Busyness) -> float:
        """Serve the numbers with a permit due, longest waiting first. Return seconds to the next tick."""
        for pacer in [pacer for pacer, next_ns in self._next_ns.items() if next_ns <= now_ns]:
            if monotonic_ns() - now_ns > TURN_NS_MAX:
                return 0.0
            del self._next_ns[pacer]  # it goes back in at the end
            self._next_ns[pacer] = now_ns + TICK_NS_MAX
            try:
                self._next_ns[pacer] = now_ns + min(TICK_NS_MAX, pacer.tick(now_ns, loop))
            except Exception as problem:
                pacer.on_failure(problem)
        wait_ns = min(self._next_ns.values(), default=now_ns + TICK_NS_MAX) - now_ns
        return max(TICK_S_MIN, wait_ns / SECOND_NS)
