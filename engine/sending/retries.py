"""Claims further attempts for one number: of recipients whose wait is over, in ranges that it holds."""

from engine.clock import SECOND_NS, suspend_aware_ns
from engine.core.guard import PairGuard
from engine.sending.feeder import Feeder
from engine.sending.flow_context import Shared
from engine.sending.guarding import Guarded, guard_retries
from engine.sending.messages import Granted
from engine.store.database import LOST_CONNECTION
from engine.store.leases import Lease
from engine.store.retry_claims import claim_retries, due_retries, postpone_retries, unsent_claims

RETRY_PERIOD_NS = SECOND_NS // 4
# While nobody is found who waits: with many slow numbers these looks cost as much as all claims together.
RETRY_PERIOD_NS_MAX = SECOND_NS


class Retries:
    """Of one number. `unanswered`: claims of which nobody knows may be committed: `give_up_unanswered`."""

    def __init__(self, shared: Shared, lease: Lease, feeder: Feeder, pairs: PairGuard) -> None:
        self._shared = shared
        self._lease = lease
        self._feeder = feeder
        self._pairs = pairs
        self._looked_ns = 0
        self._period_ns = RETRY_PERIOD_NS
        self.unanswered = False

    def expect(self) -> None:
        """Somebody begins to wait: look as often as at first."""
        self._period_ns = RETRY_PERIOD_NS

    async def claim(self, now_ns: int, room: int) -> Granted:
        """Claim what is due, the longest waiting first, up to `room`; nobody between two looks."""
        claimed_ns = suspend_aware_ns()
        if now_ns - self._looked_ns < self._period_ns or not self._feeder.held:
            return Granted([], [], claimed_ns)
        self._looked_ns = now_ns
        try:
            guarded, attempt_nos = await self._look(now_ns, room)
        except LOST_CONNECTION:
            self.unanswered = True
            raise
        found = guarded.passed or guarded.decided or guarded.postponed
        self._period_ns = RETRY_PERIOD_NS if found else min(2 * self._period_ns, RETRY_PERIOD_NS_MAX)
        granted = [one for one in guarded.passed if (one.range_id, one.seq) in attempt_nos]
        return Granted(granted, [attempt_nos[one.range_id, one.seq] for one in granted], claimed_ns)

    async def _look(self, now_ns: int, room: int) -> tuple[Guarded, dict[tuple[int, int], int]]:
        """What the guards said of those who are due, and the attempts that were granted, by range and seq."""
        campaign_cache = self._shared.campaign_cache
        sendable = [held for held in self._feeder.held.values() if campaign_cache.sends(held.campaign_id)]
        async with self._shared.pool.acquire(timeout=5) as connection:
            due = await due_retries(connection, sendable, room)
            guarded = guard_retries(due, campaign_cache, self._pairs, self._lease, now_ns)
            if guarded.postponed:
                await postpone_retries(connection, guarded.postponed)
            if not (guarded.passed or guarded.decided):
                return guarded, {}
            return guarded, await claim_retries(connection, self._lease, guarded.passed, guarded.decided)

    async def give_up_unanswered(self) -> None:
        """Claims whose COMMIT lost its answer: what they granted was never sent. Nothing may be under way."""
        await self._shared.results_writer.flushed()
        async with self._shared.pool.acquire(timeout=5) as connection:
            unsent = await unsent_claims(connection, self._lease, list(self._feeder.held.values()))
        for fact in unsent:
            self._shared.results_writer.put(fact)
        await self._shared.results_writer.flushed()
        self.unanswered = False
