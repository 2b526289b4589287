"""Any order of replies, losses, claims, resends and events gives the states of the model, and exact range counters."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from drumbeat.engine.core.states import EvidenceRank, RecipientState
from drumbeat.engine.core.tag import Tag
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.facts import Fact, FactKind
from drumbeat.engine.store.in_doubt import assume_sent, resend
from drumbeat.engine.store.queries import queries
from drumbeat.engine.store.recording import record
from drumbeat.engine.store.status_applier import apply_statuses
from tests.examples import examples
from tests.kit.planted import (
    FIRST_RANGE,
    NUMBER,
    installation,
    plant_campaign,
    put_in_inbox,
    range_counters,
    recount,
    status_event,
)
from tests.model import attempts as model
from tests.model.attempts import Attempts

RECIPIENTS = 3
PHONE = 5511900000000  # on no list of suppressions
REPLIES = (FactKind.ACCEPTED, FactKind.FAILED, FactKind.DEFERRED, FactKind.UNKNOWN)
RANKS = (EvidenceRank.SENT, EvidenceRank.FAILED, EvidenceRank.DELIVERED, EvidenceRank.READ)
seqs = st.integers(1, RECIPIENTS)
attempts = st.integers(1, 3)
steps = st.one_of(
    st.tuples(st.just("reply"), seqs, attempts, st.sampled_from(REPLIES)),
    st.tuples(st.just("event"), seqs, attempts, st.sampled_from(RANKS), st.booleans()),
    st.tuples(st.just("apply")),
    st.tuples(st.just("claim"), seqs),
    st.tuples(st.just("owner_gone")),
    st.tuples(st.just("resend")),
    st.tuples(st.just("assume_sent")),
)


@dataclass
class Believed:
    """What the model knows of a recipient. `owner_gone_or_reply_lost`: the epoch of its current attempt is gone, or the reply."""

    attempts: Attempts = field(default_factory=lambda: Attempts(ranks=(None,)))
    owner_gone_or_reply_lost: bool = False

    @property
    def state(self) -> RecipientState:
        return model.state_of(self.attempts, owned=not self.owner_gone_or_reply_lost)

    @property
    def is_in_doubt(self) -> bool:
        return self.state is RecipientState.UNKNOWN

    def learn(self, attempt_no: int, rank: EvidenceRank) -> None:
        self.attempts = model.evidence(
            self.attempts, attempt_no, rank, in_doubt=self.owner_gone_or_reply_lost
        )

    def refuse(self, attempt_no: int) -> None:
        self.attempts = model.not_accepted(self.attempts, attempt_no)

    def lose(self) -> None:
        if not self.attempts.refused:
            self.owner_gone_or_reply_lost = True
            self.attempts = model.lost(self.attempts)


@dataclass
class World:
    connection: Connection
    campaign: int
    range_id: int
    installation: str
    believed: dict[int, Believed] = field(default_factory=dict)
    in_inbox: list[tuple[int, int, EvidenceRank]] = field(default_factory=list)

    async def reply(self, seq: int, attempt_no: int, kind: FactKind) -> None:
        believed = self.believed[seq]
        if attempt_no > believed.attempts.current:
            return
        if kind is FactKind.FAILED and believed.attempts.ranks[attempt_no - 1] is not None:
            return  # the service refuses no message of which it has sent a status
        fact = Fact(
            self.campaign,
            self.range_id,
            seq,
            attempt_no,
            1,
            NUMBER,
            kind,
            f"{self.range_id}.{seq}.{attempt_no}",
        )
        await record(self.connection, [fact])
        if kind is FactKind.ACCEPTED:
            believed.learn(attempt_no, EvidenceRank.ACCEPTED)
        elif kind is FactKind.FAILED:
            believed.attempts = model.rejected(believed.attempts, attempt_no)
        elif kind is FactKind.DEFERRED:
            believed.refuse(attempt_no)
        elif attempt_no == believed.attempts.current:
            believed.lose()

    async def event(self, seq: int, attempt_no: int, rank: EvidenceRank, tagged: bool) -> None:
        if attempt_no > self.believed[seq].attempts.current:
            return
        wamid = f"{self.range_id}.{seq}.{attempt_no}"
        known = await self.connection.fetchval(
            "SELECT EXISTS (SELECT 1 FROM outcomes WHERE wamid = $1)", wamid
        )
        tag = Tag(self.installation, self.range_id, seq, attempt_no, 1) if tagged or not known else None
        await put_in_inbox(self.connection, status_event(wamid, rank, tag))
        self.in_inbox.append((seq, attempt_no, rank))

    async def apply(self) -> None:
        await apply_statuses(self.connection)
        best: dict[tuple[int, int], EvidenceRank] = {}
        for seq, attempt_no, rank in self.in_inbox:
            best[seq, attempt_no] = max(rank, best.get((seq, attempt_no), rank))
        for (seq, attempt_no), rank in sorted(best.items(), reverse=True):
            self.believed[seq].learn(attempt_no, rank)
        self.in_inbox.clear()

    async def claim(self, seq: int) -> None:
        sql = queries("retry_claims")
        current = self.believed[seq].attempts.current
        async with self.connection.transaction():
            await self.connection.execute(queries("facts")["lock_range_counters"], [self.range_id])
            rows = await self.connection.fetch(
                sql["claim_retries"], [self.range_id], [seq], [current], 1, NUMBER, [PHONE]
            )
            await self.connection.execute(sql["count_claimed"], [self.range_id], [len(rows)])
        if rows:
            self.believed[seq].attempts = model.claimed(self.believed[seq].attempts)
            self.believed[seq].owner_gone_or_reply_lost = False

    async def owner_gone(self) -> None:
        sql = queries("ranges")
        async with self.connection.transaction():
            await self.connection.execute(queries("facts")["lock_range_counters"], [self.range_id])
            first = await self.connection.fetch(
                sql["put_first_attempts_in_doubt"], [self.range_id], [1], NUMBER
            )
            await self.connection.execute(sql["remove_retries_of_reached"], [self.range_id])
            retries = await self.connection.fetch(sql["put_retries_in_doubt"], [self.range_id])
            await self.connection.execute(sql["count_in_doubt"], [self.range_id], [len(first) + len(retries)])
        for believed in self.believed.values():
            believed.lose()

    async def resend(self) -> None:
        await resend(self.connection, self.campaign, "test")
        for believed in self.believed.values():
            if believed.is_in_doubt:
                believed.refuse(believed.attempts.current)

    async def assume_sent(self) -> None:
        await assume_sent(self.connection, self.campaign, "test")
        for believed in self.believed.values():
            if believed.is_in_doubt:
                believed.learn(believed.attempts.current, EvidenceRank.ACCEPTED)

    async def check(self, taken: Sequence[Any]) -> None:
        assert (await range_counters(self.connection)) == (await recount(self.connection)), taken
        rows = await self.connection.fetch(
            "SELECT seq, state FROM recipient_states WHERE range_id = $1", self.range_id
        )
        stored = {row["seq"]: row["state"] for row in rows}
        for seq, believed in self.believed.items():
            assert stored[seq] == believed.state, (seq, believed, taken)


async def follow(pool: Pool, taken: Sequence[tuple[Any, ...]]) -> World:
    """Take the steps, and compare the store with the model after each."""
    async with pool.acquire() as connection:
        await connection.execute(
            "TRUNCATE campaigns, ranges, range_counters, claims, recipients, outcomes, pending_attempts, inbox, inbox_groups CASCADE"
        )
        campaign = await plant_campaign(connection, recipients=RECIPIENTS)
        world = World(connection, campaign, FIRST_RANGE, await installation(connection))
        world.believed = {seq: Believed() for seq in range(1, RECIPIENTS + 1)}
        for done, (name, *arguments) in enumerate([*taken, ("apply",)], 1):
            await getattr(world, name)(*arguments)
            await world.check(taken[:done])
    return world


@settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(taken=st.lists(steps, min_size=1, max_size=25))
async def test_every_history_ends_as_the_model_says(pool: Pool, taken: list[tuple[Any, ...]]) -> None:
    await follow(pool, taken)


RESENT = (("reply", 1, 1, FactKind.UNKNOWN), ("resend",), ("claim", 1))
SENT, FAILED = ("event", 1, 1, EvidenceRank.SENT, True), ("event", 1, 1, EvidenceRank.FAILED, True)
SEEN = ("event", 1, 2, EvidenceRank.DELIVERED, True)
APPLY = ("apply",)


@pytest.mark.parametrize(
    ("taken", "state"),
    [
        # A deferral that evidence cancelled stays cancelled when that message fails.
        ((*RESENT, ("reply", 1, 2, FactKind.DEFERRED), SENT, APPLY, FAILED), "failed"),
        ((*RESENT, SENT, APPLY, ("reply", 1, 2, FactKind.DEFERRED), FAILED), "failed"),
        # The same holds for an attempt in doubt.
        ((*RESENT, ("reply", 1, 2, FactKind.UNKNOWN), SENT, APPLY, FAILED), "failed"),
        ((*RESENT, ("owner_gone",), SENT, APPLY, FAILED), "failed"),
        ((*RESENT, SENT, APPLY, ("owner_gone",), FAILED), "failed"),
        # A deferral that was never cancelled stays.
        ((*RESENT, ("reply", 1, 2, FactKind.DEFERRED), FAILED), "deferred"),
        ((*RESENT, SENT, APPLY, FAILED, APPLY, ("reply", 1, 2, FactKind.DEFERRED)), "deferred"),
        ((*RESENT, SENT, APPLY, FAILED), "pending"),
        # The later message was accepted after all.
        (
            (*RESENT, ("reply", 1, 2, FactKind.DEFERRED), SENT, APPLY, FAILED, APPLY, SEEN),
            "delivered",
        ),
        # The service refused the later request for good; the earlier message is on its way.
        ((*RESENT, ("reply", 1, 2, FactKind.FAILED), SENT), "sent"),
        ((*RESENT, SENT, APPLY, ("reply", 1, 2, FactKind.FAILED)), "sent"),
        # The later message was accepted and failed; what is seen on a phone has not failed.
        (
            (*RESENT, ("reply", 1, 2, FactKind.ACCEPTED), ("event", 1, 2, EvidenceRank.FAILED, True), SENT),
            "failed",
        ),
    ],
)
async def test_what_a_resend_meets(pool: Pool, taken: Sequence[tuple[Any, ...]], state: str) -> None:
    world = await follow(pool, taken)
    assert world.believed[1].state == state


@pytest.mark.parametrize("rank", RANKS)
async def test_a_lost_reply_then_a_lost_owner_then_an_event(pool: Pool, rank: EvidenceRank) -> None:
    async with pool.acquire() as connection:
        campaign = await plant_campaign(connection, recipients=RECIPIENTS)
        world = World(connection, campaign, FIRST_RANGE, await installation(connection))
        world.believed = {seq: Believed() for seq in range(1, RECIPIENTS + 1)}
        await world.owner_gone()
        await world.event(1, 1, rank, True)
        await world.apply()
        await world.check([])
        assert world.believed[1].state.value == rank.name.lower()
