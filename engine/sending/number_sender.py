"""The flow of one number: claim, guard, watermark, pace, attempt, outcome. One owner, one epoch, one of
these.

    feeder ──page──▶ guard ──▶ watermark (committed) ──▶ sender's lanes ──▶ outcome ──▶ results writer

The watermark runs ahead of the sender by a quarter of a second of the rate, so that a claim never waits for a
commit and little is in doubt if this process dies. Whatever speaks against sending stops the raise of the
watermark; it never leaves marked recipients behind.
"""

import asyncio
from contextlib import suppress
from math import ceil

import structlog

from engine.api.transport import Transport
from engine.clock import SECOND_NS, monotonic_ns
from engine.core.bucket import PaceBucket
from engine.core.governor import Governor
from engine.core.guard import PairGuard
from engine.core.lead import Lead
from engine.core.lease import PERMIT_S
from engine.core.outcome import Outcome, Transient
from engine.sender import Sender
from engine.sending.feeder import Feeder
from engine.sending.first_attempts import FirstAttempts
from engine.sending.flow_context import Shared
from engine.sending.messages import Claimed, Granted
from engine.sending.outcome_policy import OutcomePolicy, fact_of
from engine.sending.retries import RETRY_PERIOD_NS, Retries
from engine.store.claims import ClaimRefused
from engine.store.database import LOST_CONNECTION
from engine.store.facts import FactKind
from engine.store.leases import Lease, Renewal
from engine.store.ranges import HeldRange, release_idle_ranges, take_over_ranges

# A claim is a permit of 2 s: at low rates nothing is claimed until its turn is this near.
TURN_NS_MAX = SECOND_NS // 2
LET_GO_PERIOD_NS = SECOND_NS // 2
PARK_S = 10.0  # deferred recipients due later than this need no owner meanwhile
HAND_OVER_S = 1.0  # how long the slower number leaves a tail to the faster one
POLL_S = 0.05  # how long the raise sleeps when something speaks against it
IDLE_S = 0.2  # how long it sleeps when nothing is there to send
DOWN_S = 0.5  # how long it sleeps when the database does not answer

log = structlog.get_logger(__name__)


class NumberSender:
    """Sends for one number until it is drained. `run` is its life; the rest may be called at any time."""

    def __init__(self, shared: Shared, lease: Lease, limit_per_s: float, transport: Transport) -> None:
        now_ns = monotonic_ns()
        self.lease = lease
        self.governor = Governor(limit_per_s, now_ns)
        bucket = PaceBucket(limit_per_s, now_ns)
        bucket.hold_until(now_ns + ceil(lease.wait_s * SECOND_NS))
        self.sender = Sender(lease.phone_number_id, transport, bucket, self._on_outcome)
        self.pacer = self.sender.pacer
        self.feeder = Feeder(shared.pool, lease, shared.campaign_cache)
        self.idle = False
        self.suspended_reason: str | None = None
        self._shared = shared
        self._outcome_policy = OutcomePolicy(shared, lease.phone_number_id, self.governor)
        pairs = PairGuard(every_s=1 / shared.service.pair_rate_per_s, burst=shared.service.pair_burst)
        self._first_attempts = FirstAttempts(shared, lease, self.feeder, pairs)
        self._retries = Retries(shared, lease, self.feeder, pairs)
        self._lead = Lead(limit_per_s, now_ns)
        self._stopping = False
        self._let_go_ns = 0
        shared.results_writer.attempt_statistics.limits_per_s[lease.phone_number_id] = limit_per_s

    @property
    def limit_per_s(self) -> float:
        return self.pacer.bucket.limit_per_s

    @property
    def rate_per_s(self) -> float:
        return self.pacer.bucket.rate_per_s

    def renewed(self, renewal: Renewal) -> None:
        """The database's word on this number: its limit, and whether it rests."""
        now_ns = monotonic_ns()
        if renewal.limit_per_s != self.limit_per_s:
            log.info("limit_changed", number=self.lease.phone_number_id, limit_per_s=renewal.limit_per_s)
            self._shared.results_writer.attempt_statistics.limits_per_s[self.lease.phone_number_id] = (
                renewal.limit_per_s
            )
            self.pacer.bucket.set_limit(renewal.limit_per_s, now_ns)
            self.governor.set_limit(renewal.limit_per_s, now_ns)
        if self.suspended_reason and not renewal.rests:
            log.info("number_returned", number=self.lease.phone_number_id)
            self.governor.resume(now_ns)
        self.suspended_reason = (renewal.suspended_reason or "suspended") if renewal.rests else None
        if not self._shared.has_order_for(self.lease.phone_number_id):
            self._outcome_policy.blocked = False  # from here the database's word counts

    def regulate(self, now_ns: int) -> None:
        """Let the governor look at what it saw, and pace accordingly; a few times a second."""
        self._lead.measure(self.pacer.bucket.writes, now_ns)
        self.sender.learn()
        rest = self.governor.decide(now_ns)
        # A number that rests is told to rest again only afterwards: a shorter rest must not replace this one.
        if rest is not None and not (self.suspended_reason or self._outcome_policy.blocked):
            self._outcome_policy.suspend((rest.until_ns - now_ns) / SECOND_NS, rest.reason)
        self.pacer.bucket.set_rate(self.governor.rate_per_s(now_ns), now_ns)
        self.pacer.bucket.hold_until(self.governor.hold_until_ns)

    async def run(self) -> None:
        """Adopt what a former owner left, then raise and send until told to stop."""
        adopted = False
        while not self._stopping:
            try:
                if not adopted:
                    await self._adopt()
                    adopted = True
                if await self._step():
                    continue
                if self._shared.results_writer.full:
                    await self._shared.results_writer.relief(POLL_S)
                else:
                    await self._rest(IDLE_S if self.idle else POLL_S)
            except ClaimRefused as refusal:
                log.info("claim_refused", number=self.lease.phone_number_id, why=str(refusal))
            except LOST_CONNECTION as problem:
                self._shared.database_away.met(
                    number=self.lease.phone_number_id, problem=type(problem).__name__
                )
                await self._rest(DOWN_S)

    def stop(self) -> None:
        """Claim nothing more."""
        self._stopping = True
        self.sender.low.set()

    async def drain(self, timeout_s: float) -> None:
        """Claim nothing more, let open requests end, store what was not written as deferred."""
        self.stop()
        self.sender.give_back()
        try:
            await asyncio.wait_for(self.sender.idle(), timeout_s)
        except TimeoutError:
            self.sender.abort()
            await self.sender.idle()
        await self.feeder.close()

    async def release(self) -> None:
        """Give every range back: after a drain, when the results writer has stored everything."""
        await self.feeder.release(list(self.feeder.held.values()))

    async def _adopt(self) -> None:
        async with self._shared.pool.acquire(timeout=5) as connection:
            await take_over_ranges(connection, self.lease)
        # The former owner may have claimed until the ranges were fenced: its permits are counted from here.
        self.pacer.bucket.hold_until(monotonic_ns() + ceil(self.lease.wait_s * SECOND_NS))
        await self.feeder.recover()

    async def _step(self) -> bool:
        """One round: let go, retries, first attempts. False when there was nothing to do."""
        if self.sender.failure is not None:
            raise self.sender.failure  # a bug: better to end, all accounted for, than to stand still
        now_ns = monotonic_ns()
        if self._retries.unanswered:
            await self.sender.idle()
            await self._retries.give_up_unanswered()
        await self._let_go(now_ns)
        if self.pacer.bucket.wait_ns(now_ns) > PERMIT_S * SECOND_NS:
            self.sender.give_back("the number waits")  # a claim would run out in the queue, unnoticed
        if self._must_wait(now_ns):
            return False
        lead = self._claimable()
        self.sender.low_below = max(1, lead // 2)
        room = lead - self.sender.queued
        if room <= lead // 2 and self.sender.queued:
            return await self._until_low()
        claimed = await self._claim(now_ns, room)
        self.idle = not (claimed or self.sender.under_way)
        return claimed

    async def _claim(self, now_ns: int, room: int) -> bool:
        """Claim recipients that wait for another attempt, then first attempts. To find out whether the
        service is back, first attempts come first: those that wait may be the ones that it always fails.
        """
        if self._shared.breaker.suspicious and await self._claim_first_attempts(room):
            return True
        retried = await self._claim_retries(now_ns, room)
        return (room > retried and await self._claim_first_attempts(room - retried)) or retried > 0

    def _claimable(self) -> int:
        """How many messages may be claimed and not yet written."""
        return 1 if self._shared.breaker.suspicious else self._lead.messages(self.rate_per_s)

    def _must_wait(self, now_ns: int) -> bool:
        return (
            self._shared.results_writer.full
            or self.suspended_reason is not None
            or self._outcome_policy.blocked
            or self._shared.breaker.is_open(now_ns)
            or (self._shared.breaker.suspicious and self.sender.under_way > 0)
            or self.pacer.bucket.wait_ns(now_ns) > TURN_NS_MAX
        )

    async def _until_low(self) -> bool:
        self.sender.low.clear()
        if self.sender.queued >= self.sender.low_below:
            await self._rest(RETRY_PERIOD_NS / SECOND_NS)  # nothing else is due sooner
        return True

    async def _rest(self, wait_s: float) -> None:
        """Sleep, but not through a stop or a queue that runs low."""
        self.sender.low.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(wait_s):  # `wait_for` would make a task
                await self.sender.low.wait()

    async def _claim_first_attempts(self, room: int) -> bool:
        feed = await self.feeder.feed()
        if feed is None or self._stopping:
            return False
        self._send(await self._first_attempts.claim(feed, room))
        self.feeder.look_ahead(2 * self._claimable())
        return True

    async def _claim_retries(self, now_ns: int, room: int) -> int:
        granted = await self._retries.claim(now_ns, room)
        self._send(granted)
        return len(granted.attempt_nos)

    def _send(self, granted: Granted) -> None:
        """Each may be written until its claim is two seconds old."""
        expires_ns = granted.claimed_ns + int(PERMIT_S * SECOND_NS)
        self.sender.send(
            self._shared.messages(granted.candidates, granted.attempt_nos, self.lease, expires_ns)
        )

    async def _let_go(self, now_ns: int) -> None:
        """Finish ranges in which nothing is left; hand the tail of a campaign to a faster idle number."""
        if now_ns - self._let_go_ns < LET_GO_PERIOD_NS:
            return
        self._let_go_ns = now_ns
        running = self._shared.campaign_cache.running
        ended = [
            one
            for one in self.feeder.held.values()
            if one.claimed_through >= one.last_seq or one.state != "open" or one.campaign_id not in running
        ]
        if ended:
            async with self._shared.pool.acquire(timeout=5) as connection:
                gone = await release_idle_ranges(connection, self.lease, ended, PARK_S)
            self.feeder.forget(gone)
        if self.suspended_reason and self.feeder.held:
            await self._hand_over(list(self.feeder.held.values()))
        elif self._shared.faster_idle(self):
            await self._hand_over(
                [one for one in self.feeder.held.values() if one.claimed_through < one.last_seq]
            )
            await asyncio.sleep(HAND_OVER_S)

    async def _hand_over(self, ranges: list[HeldRange]) -> None:
        """Release ranges for other numbers, when nothing is under way: the next owner would doubt it."""
        self.sender.give_back()
        await self.sender.idle()
        await self._shared.results_writer.flushed()
        log.info("ranges_handed_over", number=self.lease.phone_number_id, ranges=len(ranges))
        await self.feeder.release(ranges)

    def _on_outcome(self, message: Claimed, outcome: Outcome, written_ns: int | None) -> None:
        downtime = type(outcome) is Transient and self._shared.breaker.is_downtime(monotonic_ns())
        fact = fact_of(message, outcome, self.lease, written_ns, downtime=downtime)
        self._shared.results_writer.put(fact)
        if fact.kind is FactKind.DEFERRED:
            self._retries.expect()
        self._outcome_policy.react(message, outcome, written_ns)
