"""Any order of replies, losses, claims, resends, events, folds: the model's states, range counters as recounted."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.core.states import EvidenceRank, RecipientState
from engine.core.tag import Tag
from engine.store.database import Connection, Pool
from engine.store.facts import Fact, FactKind
from engine.store.in_doubt import assume_sent, resend
from engine.store.queries import queries
from engine.store.recording import record
from engine.webhooks.status_applier import apply_statuses
from tests.examples import examples
from tests.model import tries as model
from tests.model.tries import Tries
from tests.webhooks.planted import (
    FIRST_RANGE,
    NUMBER,
    installation,
    plant_campaign,
    put_in_inbox,
    range_counters,
    recount,
    status_event,
)

RECIPIENTS = 3
PHONE = 5511900000000  # on no list of suppressions
REPLIES = (FactKind.ACCEPTED, FactKind.FAILED, FactKind.DEFERRED, FactKind.UNKNOWN)
RANKS = (EvidenceRank.SENT, EvidenceRank.FAILED, EvidenceRank.DELIVERED, EvidenceRank.READ)
seqs = st.integers(1, RECIPIENTS)
tries = st.integers(1, 3)
steps = st.one_of(
    st.tuples(st.just("reply"), seqs, tries, st.sampled_from(REPLIES)),
    st.tuples(st.just("event"), seqs, tries, st.sampled_from(RANKS), st.booleans()),
    st.tuples(st.just("fold")),
    st.tuples(st.just("claim"), seqs),
    st.tuples(st.just("owner_gone")),
    st.tuples(st.just("resend")),
    st.tuples(st.just("assume_sent")),
)


@dataclass
class Believed:
    """What the model knows of a recipient. `doubtful`: the epoch of its current attempt is gone, or the reply."""

    tries: Tries = field(default_factory=lambda: Tries(ranks=(None,)))
    doubtful: bool = False

    @property
    def state(self) -> RecipientState:
        return model.state_of(self.tries, owned=not self.doubtful)

    @property
    def is_in_doubt(self) -> bool:
        return self.state is RecipientState.UNKNOWN

    def learn(self, attempt_no: int, rank: EvidenceRank) -> None:
        self.tries = model.evidence(self.tries, attempt_no, rank, doubted=self.doubtful)

    def refuse(self, attempt_no: int) -> None:
        self.tries = model.not_accepted(self.tries, attempt_no)

    def lose(self) -> None:
        if not self.tries.refused:
            self.doubtful = True
            self.tries = model.lost(self.tries)


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
        if attempt_no > believed.tries.current:
            return
        if kind is FactKind.FAILED and believed.tries.ranks[attempt_no - 1] is not None:
            return  # the service does not refuse what it has told about
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
            believed.tries = model.rejected(believed.tries, attempt_no)
        elif kind is FactKind.DEFERRED:
            believed.refuse(attempt_no)
        elif attempt_no == believed.tries.current:
            believed.lose()

    async def event(self, seq: int, attempt_no: int, rank: EvidenceRank, tagged: bool) -> None:
        if attempt_no > self.believed[seq].tries.current:
            return
        wamid = f"{self.range_id}.{seq}.{attempt_no}"
        known = await self.connection.fetchval(
            "SELECT EXISTS (SELECT 1 FROM outcomes WHERE wamid = $1)", wamid
        )
        tag = Tag(self.installation, self.range_id, seq, attempt_no, 1) if tagged or not known else None
        await put_in_inbox(self.connection, status_event(wamid, rank, tag))
        self.in_inbox.append((seq, attempt_no, rank))

    async def fold(self) -> None:
        await apply_statuses(self.connection)
        best: dict[tuple[int, int], EvidenceRank] = {}
        for seq, attempt_no, rank in self.in_inbox:
            best[seq, attempt_no] = max(rank, best.get((seq, attempt_no), rank))
        for (seq, attempt_no), rank in sorted(best.items(), reverse=True):
            self.believed[seq].learn(attempt_no, rank)
        self.in_inbox.clear()

    async def claim(self, seq: int) -> None:
        sql = queries("retry_claims")
        current = self.believed[seq].tries.current
        async with self.connection.transaction():
            await self.connection.execute(queries("facts")["lock_range_counters"], [self.range_id])
            rows = await self.connection.fetch(
                sql["claim_retries"], [self.range_id], [seq], [current], 1, NUMBER, [PHONE]
            )
            await self.connection.execute(sql["count_claimed"], [self.range_id], [len(rows)])
        if rows:
            self.believed[seq].tries = model.claimed(self.believed[seq].tries)
            self.believed[seq].doubtful = False

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
                believed.refuse(believed.tries.current)

    async def assume_sent(self) -> None:
        await assume_sent(self.connection, self.campaign, "test")
        for believed in self.believed.values():
            if believed.is_in_doubt:
                believed.learn(believed.tries.current, EvidenceRank.ACCEPTED)

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
        for done, (name, *arguments) in enumerate([*taken, ("fold",)], 1):
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
FOLD = ("fold",)


@pytest.mark.parametrize(
    ("taken", "state"),
    [
        # A deferral that evidence cancelled stays cancelled when that message fails.
        ((*RESENT, ("reply", 1, 2, FactKind.DEFERRED), SENT, FOLD, FAILED), "failed"),
        ((*RESENT, SENT, FOLD, ("reply", 1, 2, FactKind.DEFERRED), FAILED), "failed"),
        # So does a doubt.
        ((*RESENT, ("reply", 1, 2, FactKind.UNKNOWN), SENT, FOLD, FAILED), "failed"),
        ((*RESENT, ("owner_gone",), SENT, FOLD, FAILED), "failed"),
        ((*RESENT, SENT, FOLD, ("owner_gone",), FAILED), "failed"),
        # What was never cancelled goes on.
        ((*RESENT, ("reply", 1, 2, FactKind.DEFERRED), FAILED), "deferred"),
        ((*RESENT, SENT, FOLD, FAILED, FOLD, ("reply", 1, 2, FactKind.DEFERRED)), "deferred"),
        ((*RESENT, SENT, FOLD, FAILED), "pending"),
        # The later message was accepted after all.
        (
            (*RESENT, ("reply", 1, 2, FactKind.DEFERRED), SENT, FOLD, FAILED, FOLD, SEEN),
            "delivered",
        ),
        # The service refused the later request for good; the earlier message is on its way.
        ((*RESENT, ("reply", 1, 2, FactKind.FAILED), SENT), "sent"),
        ((*RESENT, SENT, FOLD, ("reply", 1, 2, FactKind.FAILED)), "sent"),
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
async def test_one_of_the_histories(pool: Pool, rank: EvidenceRank) -> None:
    """The one that matters most: lost reply, owner gone, event."""
    async with pool.acquire() as connection:
        campaign = await plant_campaign(connection, recipients=RECIPIENTS)
        world = World(connection, campaign, FIRST_RANGE, await installation(connection))
        world.believed = {seq: Believed() for seq in range(1, RECIPIENTS + 1)}
        await world.owner_gone()
        await world.event(1, 1, rank, True)
        await world.fold()
        await world.check([])
        assert world.believed[1].state.value == rank.name.lower()
