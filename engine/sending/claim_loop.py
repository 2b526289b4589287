"""The loop that claims recipients for one number, ahead of its pace, and gives the messages to its
dispatcher.

The claims run a quarter of a second of the rate ahead: a write never waits for a commit, and few recipients
are in doubt if the process dies. Whatever forbids sending stops the next claim; it never leaves claimed
recipients behind.
"""

import asyncio
from contextlib import suppress

from drumbeat.engine.clock import SECOND_NS, monotonic_ns
from drumbeat.engine.core.lease import CLAIM_VALID_S
from drumbeat.engine.process.event_log import get_logger
from drumbeat.engine.sending.dispatcher import Dispatcher
from drumbeat.engine.sending.first_attempts import FirstAttempts
from drumbeat.engine.sending.flow_context import FlowContext, PeerNumber
from drumbeat.engine.sending.messages import GrantedClaims
from drumbeat.engine.sending.number_pace import NumberPace
from drumbeat.engine.sending.number_ranges import NumberRanges
from drumbeat.engine.sending.retries import Retries
from drumbeat.engine.store.claims import ClaimRefused
from drumbeat.engine.store.database import LOST_CONNECTION

# A claim is valid for 2 s, so at low rates nothing is claimed until its turn is this near.
TURN_NS_MAX = SECOND_NS // 2

log = get_logger(__name__)


class ClaimLoop:
    """The claim loop of one number. `idle`: it may claim, found nothing, and nothing was in flight."""

    def __init__(
        self,
        context: FlowContext,
        number: PeerNumber,
        pace: NumberPace,
        dispatcher: Dispatcher,
        first_attempts: FirstAttempts,
        retries: Retries,
    ) -> None:
        self.idle = False
        self._context = context
        self._timing = context.timing
        self._lease = number.lease
        self._feeder = number.feeder
        self._pace = pace
        self._dispatcher = dispatcher
        self._ranges = NumberRanges(context, number, dispatcher)
        self._first_attempts = first_attempts
        self._retries = retries
        self._stopping = False

    async def run(self) -> None:
        """Take over what a former owner left, then claim until stopped."""
        taken_over = False
        while not self._stopping:
            try:
                if not taken_over:
                    await self._ranges.take_over()
                    taken_over = True
                if await self._step():
                    continue
                if self._context.results_writer.full:
                    await self._context.results_writer.relief(self._timing.poll_s)
                else:
                    await self._sleep(self._timing.idle_s if self.idle else self._timing.poll_s)
            except ClaimRefused as refusal:
                log.info("claim_refused", number=self._lease.phone_number_id, why=str(refusal))
            except LOST_CONNECTION as problem:
                number = self._lease.phone_number_id
                self._context.database_away.report(number=number, problem=type(problem).__name__)
                await self._sleep(self._timing.down_s)

    def stop(self) -> None:
        """Claim nothing more."""
        self._stopping = True
        self.idle = False
        self._dispatcher.queue.low.set()

    async def _step(self) -> bool:
        """Do one round: release ranges, claim retries, claim first attempts. False: nothing is claimed."""
        if self._dispatcher.failure is not None:
            # the number is given up, with all its messages accounted for, instead of standing still
            raise self._dispatcher.failure
        now_ns = monotonic_ns()
        if self._retries.unanswered:
            await self._dispatcher.idle()
            await self._retries.give_up_unanswered()
        await self._ranges.release_unneeded(now_ns)
        if self._pace.bucket.wait_ns(now_ns) > CLAIM_VALID_S * SECOND_NS:
            self._dispatcher.release_queue("the number waits")  # a claim would expire in the queue, unnoticed
        if self._must_wait(now_ns):
            self.idle = False  # otherwise other numbers would leave ranges to it
            return False
        ahead = self._pace.claim_ahead()
        self._dispatcher.queue.low_below = max(1, ahead // 2)
        limit = ahead - self._dispatcher.queue.unwritten
        if limit <= ahead // 2 and self._dispatcher.queue.unwritten:
            return await self._until_low()
        claimed = await self._claim(now_ns, limit)
        self.idle = not (claimed or self._dispatcher.queue.unfinished or self._stopping)
        return claimed

    async def _claim(self, now_ns: int, limit: int) -> bool:
        """Claim up to `limit` recipients: those that wait for another attempt, then first attempts.

        While the circuit breaker probes the service, first attempts come first: those that wait may be the
        recipients that the service always fails.
        """
        if self._context.breaker.tripped and await self._claim_first_attempts(limit):
            return True
        retried = await self._claim_retries(now_ns, limit)
        return (limit > retried and await self._claim_first_attempts(limit - retried)) or retried > 0

    def _must_wait(self, now_ns: int) -> bool:
        breaker = self._context.breaker
        return (
            self._context.results_writer.full
            or self._pace.rests
            or breaker.is_open(now_ns)
            or (breaker.tripped and self._dispatcher.queue.unfinished > 0)
            or self._pace.bucket.wait_ns(now_ns) > TURN_NS_MAX
        )

    async def _until_low(self) -> bool:
        self._dispatcher.queue.low.clear()
        if self._dispatcher.queue.unwritten >= self._dispatcher.queue.low_below:
            await self._sleep(self._timing.retry_period_ns / SECOND_NS)  # nothing else is due sooner
        return True

    async def _sleep(self, wait_s: float) -> None:
        """Sleep until a stop, until the queue runs low, or for `wait_s`."""
        self._dispatcher.queue.low.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(wait_s):  # `wait_for` would make a task
                await self._dispatcher.queue.low.wait()

    async def _claim_first_attempts(self, limit: int) -> bool:
        feed = await self._feeder.feed()
        if feed is None or self._stopping:
            return False
        granted = await self._first_attempts.claim(feed, limit)
        self._send(granted)
        self._feeder.look_ahead(2 * self._pace.claim_ahead())
        return self._feeder.in_hand.sends(feed.held.campaign_id)

    async def _claim_retries(self, now_ns: int, limit: int) -> int:
        granted = await self._retries.claim(now_ns, limit)
        self._send(granted)
        return len(granted.attempt_nos)

    def _send(self, granted: GrantedClaims) -> None:
        expires_ns = granted.claimed_ns + int(CLAIM_VALID_S * SECOND_NS)
        messages = self._context.messages(granted, self._lease, expires_ns)
        self._dispatcher.send([message for message in messages if message.payload])
        for message in messages:
            if not message.payload:
                self._dispatcher.give_back(message, "the message could not be made")
