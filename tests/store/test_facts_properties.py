"""Any history of claims, facts, takeovers and cancels: range counters equal a recount after every step, no
recipient who was accepted is claimed again, and in the end every recipient is in a final state."""

from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from drumbeat.engine.store.claims import ClaimRefused, advance_watermark, page
from drumbeat.engine.store.closing import close_ranges
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.facts import Fact, FactKind
from drumbeat.engine.store.leases import Lease, take_lease
from drumbeat.engine.store.ranges import (
    HeldRange,
    release_idle_ranges,
    release_ranges,
    take_over_ranges,
    take_range,
)
from drumbeat.engine.store.recording import record
from drumbeat.engine.store.retry_claims import claim_retries, due_retries
from tests.examples import examples
from tests.sending.planted import (
    SLOW,
    another_process,
    assert_range_counters_hold,
    counts,
    plant_campaign,
    plant_numbers,
)

Key = tuple[int, int]  # range, seq
Sent = tuple[
    Key, int, int
]  # recipient, attempt_no, epoch: a claimed attempt; a fact about it may come at any time
REPLIES = (FactKind.ACCEPTED, FactKind.FAILED, FactKind.DEFERRED, FactKind.UNKNOWN)

# One reply: the index of a claimed attempt, its outcome, and how often the batch holds it.
replies = st.lists(
    st.tuples(st.integers(0, 30), st.sampled_from(REPLIES), st.integers(1, 2)), min_size=1, max_size=6
)
steps = st.one_of(
    st.tuples(st.just("claim_first"), st.integers(1, 4), st.booleans()),
    st.tuples(st.just("claim_retries"), st.integers(1, 3), st.booleans()),
    st.tuples(st.just("record"), replies),
    st.tuples(st.just("record_again")),
    st.tuples(st.just("die")),
    st.tuples(st.just("release_idle")),
    st.tuples(st.just("release_all")),
    st.tuples(st.just("cancel")),
)


@dataclass
class World:
    """One campaign of two ranges, sent by owners that die."""

    connection: Connection
    campaign_id: int
    lease: Lease
    held: list[HeldRange] = field(default_factory=list)
    sent: list[Sent] = field(default_factory=list)
    accepted: set[Key] = field(default_factory=set)
    answered: dict[Sent, FactKind] = field(default_factory=dict)
    last_batch: list[Fact] = field(default_factory=list)

    def fact(self, key: Key, attempt_no: int, epoch: int, kind: FactKind) -> Fact:
        wamid = f"{key}.{attempt_no}" if kind is FactKind.ACCEPTED else None
        return Fact(self.campaign_id, *key, attempt_no, epoch, SLOW, kind, wamid, reason="test")

    def claimed(self, keys: dict[Key, int]) -> None:
        assert not self.accepted.intersection(keys), "whoever was accepted is never claimed again"
        self.sent += [(key, attempt_no, self.lease.epoch) for key, attempt_no in keys.items()]

    async def claim_first(self, limit: int, guards: bool) -> None:
        open_ranges = [
            held for held in self.held if held.state == "open" and held.claimed_through < held.last_seq
        ]
        if not open_ranges:
            taken = await take_range(self.connection, self.lease, self.campaign_id)
            if taken is None:
                return
            self.held.append(taken)
            open_ranges = [taken] if taken.claimed_through < taken.last_seq else []
        for held in open_ranges[:1]:
            candidates = (await page(self.connection, held))[:limit]
            claimed_through = candidates[-1].seq if candidates else held.last_seq
            kinds = (FactKind.SKIPPED, FactKind.DEFERRED) if guards else ()
            decided = [
                self.fact((candidate.range_id, candidate.seq), 0, self.lease.epoch, kind)
                for candidate, kind in zip(candidates, kinds, strict=False)
            ]
            try:
                await advance_watermark(self.connection, self.lease, held, claimed_through, decided)
            except ClaimRefused:
                held.state = "closed"  # by a cancel: no other owner lives here
                continue
            self.claimed({(candidate.range_id, candidate.seq): 1 for candidate in candidates[len(decided) :]})

    async def claim_retries(self, limit: int, guards: bool) -> None:
        due = await due_retries(self.connection, self.held, limit)
        refused = [
            self.fact((candidate.range_id, candidate.seq), candidate.attempt_no, 0, FactKind.SKIPPED)
            for candidate in due[:1]
        ]
        if guards:
            self.claimed(await claim_retries(self.connection, self.lease, due[1:], refused))
        else:
            self.claimed(await claim_retries(self.connection, self.lease, due, []))

    async def record(self, replies: list[tuple[int, FactKind, int]]) -> None:
        """Replies of any epoch, in any order; one attempt has one reply, once or twice in the batch."""
        batch = []
        for index, kind, times in replies:
            if index < len(self.sent):
                attempt = self.sent[index]
                kind = self.answered.setdefault(attempt, kind)
                batch += [self.fact(*attempt, kind)] * times
                if kind is FactKind.ACCEPTED:
                    self.accepted.add(attempt[0])
        await record(self.connection, batch)
        self.last_batch = batch

    async def record_again(self) -> None:
        await record(self.connection, self.last_batch)

    async def die(self) -> None:
        self.lease = await take_lease(self.connection, SLOW, another_process())
        self.held = await take_over_ranges(self.connection, self.lease)

    async def release_idle(self) -> None:
        gone = await release_idle_ranges(self.connection, self.lease, self.held, -1.0)
        self.held = [held for held in self.held if held.range_id not in gone]

    async def release_all(self) -> None:
        await release_ranges(self.connection, self.lease, self.held)
        rows = await self.connection.fetch("SELECT range_id FROM ranges WHERE phone_number_id IS NOT NULL")
        kept = {row["range_id"] for row in rows}
        self.held = [held for held in self.held if held.range_id in kept]

    async def cancel(self) -> None:
        await close_ranges(self.connection, self.campaign_id, "cancelled")

    async def finish(self) -> None:
        """A last owner, all of whose attempts are accepted, finishes the campaign."""
        await self.die()
        for _ in range(20):
            await self.claim_first(100, False)
            await self.claim_retries(100, False)
            await self.record([(index, FactKind.ACCEPTED, 1) for index in range(len(self.sent))])
            await self.release_idle()


@settings(
    max_examples=examples(40),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(taken=st.lists(steps, min_size=2, max_size=25))
async def test_every_history_keeps_exact_range_counters_and_ends(
    pool: Pool, taken: list[tuple[Any, ...]]
) -> None:
    async with pool.acquire() as connection:
        await connection.execute(
            "TRUNCATE numbers, campaigns, ranges, range_counters, claims, recipients, outcomes, pending_attempts CASCADE"
        )
        await plant_numbers(connection, **{SLOW: 80})
        planted = await plant_campaign(connection, recipients=7, range_size=4, skipped=[2])
        lease = await take_lease(connection, SLOW, another_process())
        world = World(connection, planted.campaign_id, lease)
        for name, *arguments in taken:
            await getattr(world, name)(*arguments)
            await assert_range_counters_hold(connection)
        await world.finish()
        await assert_range_counters_hold(connection)
        left = await counts(connection, planted.campaign_id)
        assert not left["pending"] and not left["deferred"], left
        rows = await connection.fetch("SELECT state, phone_number_id FROM ranges")
        assert {row["state"] for row in rows} <= {"done", "closed"}
        assert {row["phone_number_id"] for row in rows} == {None}
