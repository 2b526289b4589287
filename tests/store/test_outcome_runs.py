"""Outcomes are stored run by run. However ranges, epochs and numbers are mixed, each row holds its fact, and what was
recorded before stays."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from drumbeat.engine.store import recording
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.facts import Fact, FactKind
from drumbeat.engine.store.recording import record
from tests.examples import examples
from tests.sending.planted import FAST, SLOW, assert_range_counters_hold, plant_campaign, plant_numbers

SINCE = datetime(1970, 1, 1, tzinfo=UTC)
STORED = {FactKind.ACCEPTED: 1, FactKind.FAILED: 2, FactKind.SKIPPED: 3}


@dataclass(frozen=True)
class RecipientFact:
    """A fact about the recipient `seq` of the range with this index in the campaign."""

    range_index: int
    seq: int
    attempt_no: int
    epoch: int
    number: str
    kind: FactKind
    texts: tuple[str | None, int | None, str | None]  # wamid, code, reason
    attempted_us: int | None

    def fact(self, campaign_id: int, range_ids: list[int]) -> Fact:
        return Fact(
            campaign_id,
            range_ids[self.range_index],
            self.seq,
            self.attempt_no,
            self.epoch,
            self.number,
            self.kind,
            *self.texts,
            attempted_us=self.attempted_us,
        )


recipient_facts = st.builds(
    RecipientFact,
    range_index=st.integers(0, 1),
    seq=st.integers(1, 6),
    attempt_no=st.sampled_from((1, 1, 1, 0, 2)),
    epoch=st.integers(1, 2),
    number=st.sampled_from((FAST, SLOW)),
    kind=st.sampled_from((FactKind.ACCEPTED, FactKind.ACCEPTED, FactKind.FAILED, FactKind.SKIPPED)),
    texts=st.tuples(
        st.sampled_from((None, "wamid.a", 'wamid."{b},')),
        st.sampled_from((None, 131026)),
        st.sampled_from((None, "it, said \x1f so", "NULL")),
    ),
    attempted_us=st.sampled_from((None, 0, 1_790_000_000_000_001, 1_799_999_999_999_999)),
)
batches = st.lists(
    recipient_facts, min_size=1, max_size=12, unique_by=lambda fact: (fact.range_index, fact.seq)
)


def row_of(fact: Fact) -> tuple[object, ...]:
    attempted_at = None if fact.attempted_us is None else SINCE + timedelta(microseconds=fact.attempted_us)
    status = 1 if fact.kind is FactKind.ACCEPTED else None
    reason = fact.reason and fact.reason.replace("\x1f", " ")
    texts = (fact.wamid, fact.code, reason)
    number = fact.phone_number_id
    return *fact.key, fact.attempt_no, fact.epoch, STORED[fact.kind], status, number, *texts, attempted_at


async def rows(connection: Connection) -> set[tuple[object, ...]]:
    return {
        tuple(row)
        for row in await connection.fetch(
            "SELECT range_id, seq, attempt_no, epoch, kind, status, phone_number_id, wamid, code, reason, attempted_at "
            "FROM outcomes"
        )
    }


@settings(
    max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)  # each example is rolled back
@given(earlier=batches, batch=batches)
async def test_each_row_holds_its_fact(
    pool: Pool, earlier: list[RecipientFact], batch: list[RecipientFact]
) -> None:
    async with pool.acquire() as connection:
        transaction = connection.transaction()
        await transaction.start()
        try:
            await plant_numbers(connection, **{SLOW: 80, FAST: 1_000})
            campaign = await plant_campaign(connection, recipients=12, range_size=6)
            before = [drawn.fact(campaign.campaign_id, campaign.range_ids) for drawn in earlier]
            await record(connection, before)
            assert await rows(connection) == set(map(row_of, before))
            known = {fact.key for fact in before}
            facts = [drawn.fact(campaign.campaign_id, campaign.range_ids) for drawn in batch]
            await record(connection, [fact for fact in facts if fact.key not in known] + before)
            new = {row_of(fact) for fact in facts if fact.key not in known}
            assert await rows(connection) == set(map(row_of, before)) | new
            await assert_range_counters_hold(connection)
        finally:
            await transaction.rollback()


async def test_only_runs_with_a_recorded_recipient_are_looked_up(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ordinary batches must take the plain path."""
    async with pool.acquire() as connection:
        await plant_numbers(connection, **{SLOW: 80})
        campaign = await plant_campaign(connection, recipients=12, range_size=6)
        facts = [
            Fact(campaign.campaign_id, range_id, seq, 1, 1, SLOW, FactKind.ACCEPTED, f"w{range_id}.{seq}")
            for range_id in campaign.range_ids
            for seq in range(1, 7)
        ]
        looked_up: list[Sequence[Fact]] = []
        real = recording.record_looked_up

        async def watched(connection: Connection, facts: Sequence[Fact]) -> None:
            looked_up.append(facts)
            await real(connection, facts)

        monkeypatch.setattr(recording, "record_looked_up", watched)
        await record(connection, facts[:2] + facts[3:8])
        assert looked_up == []
        await record(connection, facts[2:4])
        assert looked_up == [facts[2:4]]
        await record(connection, facts)
        assert len(await rows(connection)) == len(facts)
        await assert_range_counters_hold(connection)


async def test_a_pending_attempt_within_a_run_is_settled_by_its_outcome(pool: Pool) -> None:
    async with pool.acquire() as connection:
        await plant_numbers(connection, **{SLOW: 80})
        campaign = await plant_campaign(connection, recipients=6, range_size=6)
        facts = [
            Fact(campaign.campaign_id, campaign.range_ids[0], seq, 1, 1, SLOW, FactKind.ACCEPTED, f"w{seq}")
            for seq in range(1, 7)
        ]
        await record(connection, [facts[2]._replace(kind=FactKind.DEFERRED, wamid=None, wait_s=60.0)])
        assert await connection.fetchval("SELECT seq FROM pending_attempts") == 3
        await record(connection, facts)
        assert await rows(connection) == set(map(row_of, facts))
        assert await connection.fetchval("SELECT count(*) FROM pending_attempts") == 0
        await assert_range_counters_hold(connection)
