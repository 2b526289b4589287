"""The claims of first attempts for one number: the next recipients of a page are guarded, then the watermark
rises.

Law: nothing is sent before the claim is known to be committed. If the answer to a COMMIT was lost, the
database is asked whether it happened before anything else is claimed.
"""

import asyncio
from itertools import islice

import asyncpg

from drumbeat.engine.clock import monotonic_ns, suspend_aware_ns
from drumbeat.engine.core.limits.guard import PairGuard
from drumbeat.engine.sending.containment import contained
from drumbeat.engine.sending.feeder import Feeder
from drumbeat.engine.sending.feeds_in_hand import Feed
from drumbeat.engine.sending.flow_context import FlowContext
from drumbeat.engine.sending.guarding import (
    Guarded,
    guard_first_attempts,
    hold_back_retried,
    refuse_opted_out,
    refuse_over_cap,
)
from drumbeat.engine.sending.messages import GrantedClaims, RunningCampaign
from drumbeat.engine.sending.number_quota import NumberQuota
from drumbeat.engine.store.claims import (
    Candidate,
    ClaimRefused,
    WatermarkAdvance,
    advance_watermark,
    opted_out_phones,
    read_watermark,
    recorded_above,
    unsent_first_attempt,
)
from drumbeat.engine.store.database import LOST_CONNECTION
from drumbeat.engine.store.frequency_cap import counting, over_cap
from drumbeat.engine.store.leases import Lease
from drumbeat.engine.store.retried import retry_verdicts


class FirstAttempts:
    """The first attempts of one number. If `claim` raises ClaimRefused, or the error of a lost database,
    nothing is claimed.
    """

    def __init__(
        self, context: FlowContext, lease: Lease, feeder: Feeder, pairs: PairGuard, quota: NumberQuota
    ) -> None:
        self._context = context
        self._lease = lease
        self._feeder = feeder
        self._pairs = pairs
        self._quota = quota

    async def claim(self, feed: Feed, limit: int) -> GrantedClaims:
        """Claim the feed's next recipients, `limit` at most, and remove them from it.

        It claims nobody if the messaging limit allows not even the first one.
        """
        candidates, guarded = list(islice(feed.page, limit)), None
        with contained(self._context.campaign_cache, feed.held.campaign_id):
            guarded = guard_first_attempts(
                candidates, self._campaign(feed), self._pairs, self._lease, monotonic_ns()
            )
        if guarded is None:
            return GrantedClaims([], [], suspend_aware_ns())
        if guarded.passed and self._quota.is_limited:
            candidates = await self._within_quota(candidates, guarded)
            if not candidates:
                return GrantedClaims([], [], suspend_aware_ns())
        claimed_through = candidates[-1].seq if len(candidates) < len(feed.page) else feed.held.last_seq
        claimed_ns = await self._advance(feed, claimed_through, guarded)
        self._quota.not_claimed(guarded.decided)
        for _ in candidates:
            feed.page.popleft()
        return GrantedClaims(guarded.passed, [1] * len(guarded.passed), claimed_ns)

    async def _within_quota(self, candidates: list[Candidate], guarded: Guarded) -> list[Candidate]:
        """Return the candidates before the first who waits for the messaging limit. `guarded` keeps these."""
        admitted = await self._quota.admit_first(guarded.passed)
        if admitted == len(guarded.passed):
            return candidates
        waits = guarded.passed[admitted].seq
        guarded.passed = guarded.passed[:admitted]
        guarded.decided = [fact for fact in guarded.decided if fact.seq < waits]
        return [candidate for candidate in candidates if candidate.seq < waits]

    async def _advance(self, feed: Feed, claimed_through: int, guarded: Guarded) -> int:
        """Raise the watermark, and return when the claiming statement was issued, on the suspend-aware clock.

        Recipients who opted out since the page was read are then no longer in `guarded.passed`.
        """
        claimed_ns = suspend_aware_ns()
        try:
            claimed_ns = await self._in_batch(feed, claimed_through, guarded) or await self._alone(
                feed, claimed_through, guarded
            )
        except ClaimRefused:
            await self._follow_refusal(feed)
            raise
        except LOST_CONNECTION:
            if await self._stored_watermark(feed) != claimed_through:
                raise
        except (
            asyncpg.PostgresError
        ) as error:  # rolled back: the stored data of the campaign cannot be claimed
            self._context.campaign_cache.fail(feed.held.campaign_id, error)
            raise ClaimRefused(f"the claim failed: {error}") from error
        feed.held.claimed_through = claimed_through
        return claimed_ns

    async def _in_batch(self, feed: Feed, claimed_through: int, guarded: Guarded) -> int | None:
        """Claim with other numbers, as nearly always. None: nothing is claimed; `_alone` finds out why."""
        if guarded.decided or self._campaign(feed).is_retry:
            return None
        return await self._context.claim_batcher.advance_watermark(
            WatermarkAdvance(
                self._lease, feed.held, claimed_through, guarded.passed, self._campaign(feed).cap
            )
        )

    def _campaign(self, feed: Feed) -> RunningCampaign:
        return self._context.campaign_cache[feed.held.campaign_id]

    async def _alone(self, feed: Feed, claimed_through: int, guarded: Guarded) -> int:
        campaign = self._campaign(feed)
        capped = campaign.cap is not None
        async with (
            self._context.pool.acquire(timeout=5) as connection,
            counting(connection, capped=capped),
        ):
            opted_out = await opted_out_phones(connection, guarded.passed)
            refuse_opted_out(guarded, opted_out, campaign, self._lease)
            if campaign.is_retry:
                hold_back_retried(guarded, await retry_verdicts(connection, guarded.passed), self._lease)
            if campaign.cap is not None:
                caps = {campaign.campaign_id: campaign.cap}
                refuse_over_cap(guarded, await over_cap(connection, guarded.passed, caps), caps, self._lease)
            known = await recorded_above(connection, feed.held, claimed_through)
            guarded.passed = [candidate for candidate in guarded.passed if candidate.seq not in known]
            claimed_ns = suspend_aware_ns()
            await advance_watermark(connection, self._lease, feed.held, claimed_through, guarded.decided)
        return claimed_ns

    async def _follow_refusal(self, feed: Feed) -> None:
        """Find out why a claim was refused, and leave the feed as the database has it.

        If the stored watermark equals ours, the range is closed, and only outcomes are still to come. If it
        is higher, an earlier claim was committed late and its answer lost. The recipients of that claim were
        not sent to, and are deferred.
        """
        claimed_through = await self._stored_watermark(feed)
        if claimed_through == feed.held.claimed_through:
            self._feeder.in_hand.remove(feed.held.range_id)
        while feed.page and feed.page[0].seq <= claimed_through:
            self._context.results_writer.put(unsent_first_attempt(feed.page.popleft(), self._lease))
        feed.held.claimed_through = claimed_through

    async def _stored_watermark(self, feed: Feed) -> int:
        """Read the watermark; repeat until the database answers.

        ClaimRefused means that the range has a new owner, and it is removed here.
        """
        while True:
            try:
                async with self._context.pool.acquire(timeout=5) as connection:
                    return await read_watermark(connection, self._lease, feed.held)
            except ClaimRefused:
                self._feeder.remove({feed.held.range_id})
                raise
            except LOST_CONNECTION:
                await asyncio.sleep(self._context.timing.ask_again_s)
