"""Faults during a run, of the service, the database and its answers: nobody twice, nobody lost."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from pydantic import SecretStr

from drumbeat.emulator.config import EmulatorConfig, NumberConfig
from drumbeat.emulator.testing import running_emulator
from drumbeat.engine.core.retry import Wait
from drumbeat.engine.process.settings import ServiceSettings
from drumbeat.engine.sending import (
    claim_batcher,
    feeder,
    first_attempts,
    number_ranges,
    results_writer,
    retries,
)
from drumbeat.engine.store.claims import Candidate, WatermarkAdvance
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.leases import Lease, take_lease
from drumbeat.engine.store.ranges import take_range
from tests.sending.planted import SLOW, Planted, another_process, counts, plant_campaign, plant_numbers
from tests.sending.running import (
    HIGH_RATE_PER_S,
    QUICK,
    Runner,
    accepted_phones,
    assert_counts,
    assert_each_once,
    fault,
    run_to_end,
    serving,
    stands_still,
    started,
    until,
)

SOON_AGAIN = replace(QUICK, down_s=0.02, ask_again_s=0.02)


async def planted(
    pool: Pool, recipients: int, rate_per_s: float = HIGH_RATE_PER_S, **others: object
) -> Planted:
    async with pool.acquire() as connection:
        await plant_numbers(connection, **{SLOW: rate_per_s})
        return await plant_campaign(connection, recipients=recipients, **others)  # type: ignore[arg-type]


class Breaks:
    """Wraps a statement of the store: the connection breaks at some of its calls."""

    def __init__(self, real: Callable[..., Awaitable[Any]], *, calls: set[int], after: bool) -> None:
        self._real = real
        self._calls = calls
        self._after = after
        self.count = 0

    async def __call__(self, *arguments: Any) -> Any:
        self.count += 1
        if self.count not in self._calls:
            return await self._real(*arguments)
        if self._after:  # committed, and the answer never comes
            await self._real(*arguments)
        raise ConnectionResetError("cut by the test")


@pytest.mark.parametrize("after", [False, True], ids=["before", "committed"])
@pytest.mark.parametrize(
    ("module", "name", "calls"),
    [
        (claim_batcher, "advance_within_caps", {2, 3}),
        (number_ranges, "take_over_ranges", {1}),
        (number_ranges, "release_idle_ranges", {1, 2}),
        (feeder, "take_range", {1, 3}),
        (feeder, "page", {1, 2}),
        (results_writer, "record", {1, 3}),
    ],
)
async def test_a_connection_that_breaks_at_any_statement_loses_and_doubles_nobody(
    pool: Pool, monkeypatch: pytest.MonkeyPatch, module: Any, name: str, calls: set[int], after: bool
) -> None:
    cut = Breaks(getattr(module, name), calls=calls, after=after)
    monkeypatch.setattr(module, name, cut)
    campaign = await planted(pool, 120, rate_per_s=300, range_size=30)
    async with serving() as emulator:
        assert (await run_to_end(pool, emulator, campaign, timing=SOON_AGAIN)).state == "finished"
        assert cut.count > max(calls)
        assert_each_once(emulator, campaign)
    await assert_counts(pool, campaign, accepted=120)


async def test_a_claim_that_is_committed_is_used_though_its_answer_was_lost(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not released and claimed again: if the campaign stopped in between, nobody would be in doubt."""
    cut = Breaks(claim_batcher.advance_within_caps, calls={2}, after=True)
    monkeypatch.setattr(claim_batcher, "advance_within_caps", cut)
    campaign = await planted(pool, 120, rate_per_s=300)
    async with serving() as emulator:
        assert (await run_to_end(pool, emulator, campaign)).state == "finished"
        assert_each_once(emulator, campaign)
    assert cut.count > 2
    assert await pool.fetchval("SELECT max(attempt_no) FROM outcomes") == 1


async def test_whom_a_claim_covers_that_was_lost_and_commits_late_is_sent_to_once(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, lost, calls = claim_batcher.advance_within_caps, [], 0

    async def late(connection: Connection, raises: Sequence[WatermarkAdvance]) -> set[tuple[int, int]]:
        nonlocal calls
        calls += 1
        if calls == 2:
            lost.extend(raises)
            raise ConnectionResetError("cut by the test")
        if calls == 3:
            assert await real(connection, lost)
        return await real(connection, raises)

    monkeypatch.setattr(claim_batcher, "advance_within_caps", late)
    campaign = await planted(pool, 120, rate_per_s=300)
    async with serving() as emulator:
        assert (await run_to_end(pool, emulator, campaign, timing=SOON_AGAIN)).state == "finished"
        assert_each_once(emulator, campaign)
    await assert_counts(pool, campaign, accepted=120)


@pytest.mark.parametrize("after", [False, True], ids=["before", "committed"])
async def test_a_retrys_claim_whose_answer_is_lost_is_sent_once(
    pool: Pool, monkeypatch: pytest.MonkeyPatch, waits: list[tuple[Wait, int]], after: bool
) -> None:
    cut = Breaks(retries.claim_retries, calls={1, 2}, after=after)
    monkeypatch.setattr(retries, "claim_retries", cut)
    campaign = await planted(pool, 60, rate_per_s=300)
    async with serving(fault("refusal", 0.3, count=10, code=131016)) as emulator:
        assert (await run_to_end(pool, emulator, campaign, timing=SOON_AGAIN)).state == "finished"
        assert cut.count > 2
        assert_each_once(emulator, campaign)
    await assert_counts(pool, campaign, accepted=60)


async def test_what_is_under_way_when_a_retrys_claim_loses_its_answer_is_not_taken_for_unsent(
    pool: Pool, monkeypatch: pytest.MonkeyPatch, waits: list[tuple[Wait, int]]
) -> None:
    real = retries.claim_retries

    async def claim(connection: Connection, lease: Lease, wanted: Sequence[Candidate], *others: Any) -> Any:
        return await real(connection, lease, wanted[:1] if cut.count == 1 else wanted, *others)

    cut = Breaks(claim, calls={2}, after=True)
    monkeypatch.setattr(retries, "claim_retries", cut)
    campaign = await planted(pool, 30, rate_per_s=100)
    async with serving(fault("refusal", count=10, code=131016), fault("latency", median_ms=400)) as emulator:
        assert (await run_to_end(pool, emulator, campaign, timing=SOON_AGAIN)).state == "finished"
        assert cut.count > 1
        assert_each_once(emulator, campaign)
    await assert_counts(pool, campaign, accepted=30)


async def test_ranges_are_sent_though_the_answer_to_their_takeover_is_lost(
    pool: Pool, elsewhere: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        number_ranges, "take_over_ranges", Breaks(number_ranges.take_over_ranges, calls={1}, after=True)
    )
    campaign = await planted(pool, 40, range_size=20)
    dead = await take_lease(elsewhere, SLOW, another_process())
    assert await take_range(elsewhere, dead, campaign.campaign_id) is not None
    async with serving() as emulator:
        assert (await run_to_end(pool, emulator, campaign, timing=SOON_AGAIN)).state == "finished"
        assert_each_once(emulator, campaign)


async def test_connections_cut_by_the_server_in_the_middle_lose_and_double_nobody(
    pool: Pool, elsewhere: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = await planted(pool, 500, rate_per_s=400, range_size=60)
    async with serving() as emulator, started(pool, emulator, campaign, timing=SOON_AGAIN) as runner:
        for claimed_through in (60, 160, 260, 360):
            await until(
                lambda claimed_through=claimed_through: len(emulator.service.ledger) >= claimed_through
            )
            await elsewhere.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        assert (await runner.end()).state == "finished"
        assert_each_once(emulator, campaign)
    await assert_counts(pool, campaign, accepted=500)


async def test_while_outcomes_cannot_be_stored_sending_stops_and_then_all_are_stored(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, cut = results_writer.record, asyncio.Event()

    async def record(*arguments: Any) -> None:
        if cut.is_set():
            raise ConnectionResetError("cut by the test")
        await real(*arguments)

    monkeypatch.setattr(results_writer, "record", record)
    campaign = await planted(pool, 900, rate_per_s=400)
    async with serving() as emulator, started(pool, emulator, campaign) as runner:
        await until(lambda: len(emulator.service.ledger) >= 50)
        cut.set()
        seen = await stands_still(pool, emulator)
        assert seen < 500, "the claim-ahead and the outcomes that the results writer holds"
        cut.clear()
        assert (await runner.end()).state == "finished"
        assert_each_once(emulator, campaign)
    await assert_counts(pool, campaign, accepted=900)


async def test_outcomes_that_pile_up_behind_a_store_that_hangs_stop_the_raise(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No error is raised: only the high mark limits how many recipients a kill would leave in doubt."""
    real, goes_on = results_writer.record, asyncio.Event()

    async def record(*arguments: Any) -> None:
        await goes_on.wait()
        await real(*arguments)

    monkeypatch.setattr(results_writer, "record", record)
    monkeypatch.setattr(results_writer, "HIGH_MARK", 50)
    campaign = await planted(pool, 900, rate_per_s=400)
    async with serving() as emulator, started(pool, emulator, campaign) as runner:
        assert await stands_still(pool, emulator, sent_min=50) < 900
        goes_on.set()
        assert (await runner.end()).state == "finished"
        assert_each_once(emulator, campaign)
    await assert_counts(pool, campaign, accepted=900)


async def test_a_service_that_is_away_is_waited_for(pool: Pool, waits: list[tuple[Wait, int]]) -> None:
    """The circuit breaker stops the claims. Nobody is in doubt, because no byte was written."""
    campaign = await planted(pool, 400, rate_per_s=200)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = ServiceSettings(f"http://127.0.0.1:{port}", SecretStr(EmulatorConfig().token))
    runner = Runner(pool, settings, (SLOW,), campaign.campaign_id)

    async def breaker_opened() -> bool:
        return sum(kind is Wait.UNREACHABLE for kind, _ in waits) >= 20

    await until(breaker_opened)
    async with pool.acquire() as connection:
        counted = await counts(connection, campaign.campaign_id)
        marked = await connection.fetchval("SELECT max(claimed_through) FROM ranges")
    assert set(counted) <= {"pending", "deferred"}
    assert marked <= 100, "claims stop: a lead, not the audience"
    async with running_emulator(
        EmulatorConfig(port=port, numbers=(NumberConfig(SLOW, HIGH_RATE_PER_S),))
    ) as back:
        assert (await runner.end()).state == "finished"
        assert_each_once(back, campaign)
    await assert_counts(pool, campaign, accepted=400)


async def test_a_range_that_somebody_locks_for_a_moment_is_claimed_alone(
    pool: Pool, elsewhere: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, locks = claim_batcher.advance_within_caps, elsewhere.transaction()

    async def locked_once(connection: Connection, raises: Sequence[WatermarkAdvance]) -> set[tuple[int, int]]:
        if raises[0].held.claimed_through > 0:
            return await real(connection, raises)
        await locks.start()
        await elsewhere.execute("SELECT FROM ranges FOR UPDATE")
        try:
            return await real(connection, raises)
        finally:  # only now: before, a slow machine could free them before the statement asks
            asyncio.get_running_loop().call_later(
                0.1, lambda: freed.append(asyncio.create_task(locks.commit()))
            )

    freed: list[asyncio.Task[None]] = []
    monkeypatch.setattr(claim_batcher, "advance_within_caps", locked_once)
    alone = Breaks(first_attempts.advance_watermark, calls=set(), after=False)
    monkeypatch.setattr(first_attempts, "advance_watermark", alone)
    campaign = await planted(pool, 60, rate_per_s=300)
    async with serving() as emulator:
        assert (await run_to_end(pool, emulator, campaign)).state == "finished"
        assert_each_once(emulator, campaign)
    assert alone.count == 1 and len(freed) == 1
    await assert_counts(pool, campaign, accepted=60)


async def test_the_claims_of_a_statement_that_hangs_through_a_stop_are_put_in_doubt(
    pool: Pool, elsewhere: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, hung = claim_batcher.advance_within_caps, asyncio.Event()

    async def hang_once(connection: Connection, raises: Sequence[WatermarkAdvance]) -> set[tuple[int, int]]:
        raised = await real(connection, raises)
        if not hung.is_set() and raises[0].claimed_through > 20:
            hung.set()
            await asyncio.Event().wait()
        return raised

    monkeypatch.setattr(claim_batcher, "advance_within_caps", hang_once)
    campaign = await planted(pool, 100, rate_per_s=100)
    async with serving() as emulator:
        async with started(pool, emulator, campaign) as runner:
            await asyncio.wait_for(hung.wait(), 20)
            await runner.drained()
        sent = len(emulator.service.ledger)
        ended = await run_to_end(pool, emulator, campaign)
        assert ended.state == "finished" and "in doubt" in ended.reason
        assert max(accepted_phones(emulator).values()) == 1
        assert len(emulator.service.ledger) > sent
        counted = await counts(elsewhere, campaign.campaign_id)
        assert set(counted) == {"accepted", "unknown"} and counted["unknown"] <= 30
        assert counted["accepted"] == len(emulator.service.ledger)
