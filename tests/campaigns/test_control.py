"""Releasing, pausing, resuming, cancelling; and closing ranges by the law of the range counters."""

import asyncio
import os
import socket
from collections import Counter
from datetime import datetime, tzinfo
from pathlib import Path

import pytest
from pydantic import SecretStr

from drumbeat.campaigns.actor import actor
from drumbeat.campaigns.cli.report_text import report_lines
from drumbeat.campaigns.life import control as service
from drumbeat.campaigns.life.control import CampaignChange
from drumbeat.campaigns.life.run import run_campaign
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.campaigns.results.report import campaign_report
from drumbeat.engine.core.states import CampaignState, IllegalTransition, ReasonCode
from drumbeat.engine.errors import ConfigurationError, TryLater
from drumbeat.engine.process.identity import this_process
from drumbeat.engine.process.settings import ServiceSettings
from drumbeat.engine.store import closing
from drumbeat.engine.store.claims import advance_watermark
from drumbeat.engine.store.closing import close_ranges
from drumbeat.engine.store.database import Pool
from drumbeat.engine.store.leases import take_lease
from drumbeat.engine.store.ranges import take_range
from drumbeat.engine.store.recording import change_range_counters
from drumbeat.engine.store.sending_processes import note_live
from tests.campaigns.conftest import PHONE, WriteAudience
from tests.sending.planted import another_process

STATES = ("deferred", "accepted", "sent", "delivered", "read", "failed", "unknown", "skipped")


@pytest.fixture
def audience(write_audience: WriteAudience) -> Path:
    return write_audience("phone\n" + "\n".join(str(PHONE + row) for row in range(2500)))


@pytest.fixture
async def spring(ready: str, audience: Path) -> str:
    """A planned campaign of 2,500 recipients in three ranges."""
    await create_campaign(ready, spec("spring", audience))
    return "spring"


def spec(name: str, audience: Path, start_at: str | None = None) -> CampaignSpec:
    return CampaignSpec(
        name=name,
        template="order",
        language="en",
        audience=audience,
        number=["1001"],
        param=["=Hi", "=you"],
        start_at=start_at,
    )


async def counted(pool: Pool) -> Counter[str]:
    """By the range counters, which must equal a recount of every recipient."""
    sums = ", ".join(f"sum({state})::bigint AS {state}" for state in STATES)
    row = await pool.fetchrow(f"SELECT sum(recipients)::bigint AS recipients, {sums} FROM range_counters")
    assert row is not None
    tallied = Counter({state: row[state] for state in STATES if row[state]})
    tallied["pending"] = row["recipients"] - tallied.total()
    rows = await pool.fetch("SELECT state, count(*) AS count FROM recipient_states GROUP BY state")
    assert +tallied == Counter({row["state"]: row["count"] for row in rows})
    return +tallied


async def test_a_campaign_is_found_by_name(pool: Pool, spring: str) -> None:
    async with pool.acquire() as connection:
        found = await service.find_campaign(connection, spring)
        assert [campaign.name for campaign in await service.list_campaigns(connection)] == [spring]

    assert (found.state, found.recipients, found.template) == (CampaignState.DRAFT, 2500, "order")


@pytest.mark.parametrize(("unknown", "reason"), [(0, ""), (3, "3 in doubt: see `campaign settle`")])
async def test_a_list_counts_the_recipients_in_doubt_now(
    pool: Pool, spring: str, unknown: int, reason: str
) -> None:
    async with pool.acquire() as connection:
        await connection.execute("UPDATE campaigns SET state = 'running'")
        await connection.execute("UPDATE ranges SET state = 'done', claimed_through = last_seq")
        await connection.execute("UPDATE range_counters SET unknown = 397, recipients = 397")
        campaign_id = await connection.fetchval("SELECT campaign_id FROM campaigns")
        assert await closing.finish_campaign(connection, campaign_id) == 3 * 397
        await connection.execute("UPDATE range_counters SET unknown = 0")
        await connection.execute(
            "UPDATE range_counters SET unknown = $1 WHERE range_id = (SELECT min(range_id) FROM ranges)",
            unknown,
        )
        (listed,) = await service.list_campaigns(connection)
        assert (listed.reason, listed.reason_code) == (reason, ReasonCode.IN_DOUBT if unknown else None)


async def test_what_is_not_found_names_the_database_and_near_names(pool: Pool, spring: str) -> None:
    async with pool.acquire() as connection:
        with pytest.raises(ConfigurationError, match=r"database test_\w+.*did you mean spring"):
            await service.find_campaign(connection, "sprign")


async def test_start_pause_resume(pool: Pool, spring: str) -> None:
    async with pool.acquire() as connection:
        assert await service.start(connection, spring) == CampaignChange(
            spring, CampaignState.RUNNING, True, nobody_sends=True
        )
        assert await service.start(connection, spring) == CampaignChange(
            spring, CampaignState.RUNNING, False, nobody_sends=True
        )
        assert await service.pause(connection, spring) == CampaignChange(spring, CampaignState.PAUSED, True)
        assert await service.pause(connection, spring) == CampaignChange(spring, CampaignState.PAUSED, False)
        with pytest.raises(TryLater, match="paused: paused by hand"):
            await service.start(connection, spring)
        assert await service.resume(connection, spring) == CampaignChange(
            spring, CampaignState.RUNNING, True, nobody_sends=True
        )
        assert (await service.find_campaign(connection, spring)).reason == ""


@pytest.mark.parametrize(("wanted", "nobody_sends"), [(["1001"], False), (["another"], True)])
async def test_a_worker_that_waits_for_a_number_will_send(
    pool: Pool, spring: str, wanted: list[str], nobody_sends: bool
) -> None:
    async with pool.acquire() as connection:
        await note_live(connection, this_process(), wanted, [])
        assert (await service.start(connection, spring)).nobody_sends is nobody_sends


async def test_who_steers_a_campaign_stands_in_its_report(pool: Pool, spring: str) -> None:
    async with pool.acquire() as connection:
        await service.start(connection, spring, actor="ana@ops")
        await service.pause(connection, spring, actor="bo@ops")
        await service.pause(connection, spring, actor="cy@ops")  # changes nothing
        await service.resume_all(connection, actor="ana@ops")
        await service.pause_all(connection, actor="bo@ops")
        await service.cancel(connection, spring, actor="bo@ops")
        campaign_id = (await service.find_campaign(connection, spring)).campaign_id
    report = await campaign_report(pool, campaign_id)
    assert [(audit.actor, audit.action) for audit in report.audits] == [
        ("ana@ops", "start"),
        ("bo@ops", "pause"),
        ("ana@ops", "resume"),
        ("bo@ops", "pause"),
        ("bo@ops", "cancel"),
    ]
    assert (
        f"{report.audits[1].at.isoformat(timespec='seconds')} bo@ops: pause" in list(report_lines(report))[-4]
    )


def test_a_user_without_a_name_is_an_actor_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in containers that run as any number."""
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 3_000_000_123)
    assert actor() == f"uid 3000000123@{socket.gethostname()}"


async def test_a_future_campaign_waits_for_its_time_even_after_a_pause(
    ready: str, pool: Pool, audience: Path
) -> None:
    await create_campaign(ready, spec("later", audience, "2190-01-01T00:00Z"))
    async with pool.acquire() as connection:
        assert (await service.start(connection, "later")).state is CampaignState.SCHEDULED
        await service.pause(connection, "later")
        assert (await service.resume(connection, "later")).state is CampaignState.SCHEDULED


async def test_when_a_campaign_is_due_is_the_databases_to_say(
    ready: str, pool: Pool, audience: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a clock of ours that runs ahead, a run ended with 0 and had sent nothing."""

    class Ahead(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> "Ahead":
            return cls(2200, 1, 1, tzinfo=tz)

    monkeypatch.setattr("drumbeat.campaigns.life.run.datetime", Ahead, raising=False)
    await create_campaign(ready, spec("later", audience, "2190-01-01T00:00Z"))
    nobody = ServiceSettings("http://127.0.0.1:9", SecretStr("t"))
    with pytest.raises(TryLater, match="starts at 2190"):
        await run_campaign(pool, nobody, "later", stop=asyncio.Event())


async def test_a_due_campaign_runs_at_once(ready: str, pool: Pool, audience: Path) -> None:
    await create_campaign(ready, spec("due", audience, "2020-01-01T00:00Z"))
    async with pool.acquire() as connection:
        assert (await service.start(connection, "due")).state is CampaignState.RUNNING


async def test_the_emergency_stop_pauses_all_that_could_send(
    ready: str, pool: Pool, spring: str, audience: Path
) -> None:
    await create_campaign(ready, spec("later", audience, "2190-01-01T00:00Z"))
    await create_campaign(ready, spec("draft", audience))
    async with pool.acquire() as connection:
        await service.start(connection, spring)
        await service.start(connection, "later")
        assert [moved.name for moved in await service.pause_all(connection)] == ["spring", "later"]
        assert await service.pause_all(connection) == []
        states = {campaign.name: campaign.state for campaign in await service.list_campaigns(connection)}
    assert states == {
        "spring": CampaignState.PAUSED,
        "later": CampaignState.PAUSED,
        "draft": CampaignState.DRAFT,
    }


async def test_all_that_had_started_is_resumed_and_what_nobody_released_is_not(
    ready: str, pool: Pool, spring: str, audience: Path
) -> None:
    """As after a restored database, which pauses drafts too."""
    for name in ("autumn", "draft", "over"):
        await create_campaign(ready, spec(name, audience))
    async with pool.acquire() as connection:
        for name in (spring, "autumn", "over"):
            await service.start(connection, name)
        for name in (spring, "autumn", "draft", "over"):
            await service.pause(connection, name)
        await service.cancel(connection, "over")
        assert await service.resume_all(connection) == [
            CampaignChange(spring, CampaignState.RUNNING, changed=True, nobody_sends=True),
            CampaignChange("autumn", CampaignState.RUNNING, changed=True, nobody_sends=True),
            CampaignChange(
                "draft",
                CampaignState.PAUSED,
                changed=False,
                stays_paused="it has never started; release it with `drumbeat campaign resume draft`",
            ),
        ]
        assert (await service.find_campaign(connection, "draft")).state is CampaignState.PAUSED


async def test_an_unplanned_campaign_is_not_released(pool: Pool, spring: str) -> None:
    await pool.execute("UPDATE campaigns SET planned_at = NULL")
    async with pool.acquire() as connection:
        for act in (service.start, service.resume, service.cancel):
            with pytest.raises(TryLater, match="not fully planned"):
                await act(connection, spring)


async def put_under_way(pool: Pool) -> None:
    """Range 0 wholly claimed, range 1 half, range 2 not; some deferred, under way, in doubt, reached.

    Of range 2 the guard has decided on two before anybody was claimed.
    """
    ranges = await pool.fetch("SELECT range_id, last_seq FROM ranges ORDER BY ordinal")
    first, second, third = (row["range_id"] for row in ranges)
    await pool.execute("UPDATE ranges SET claimed_through = 1000 WHERE range_id = $1", first)
    await pool.execute("UPDATE ranges SET claimed_through = 400 WHERE range_id = $1", second)
    await pool.execute(
        "UPDATE recipients SET skip_reason = 'suppressed' WHERE range_id = $1 AND seq > 490", third
    )
    await pool.executemany(
        "INSERT INTO pending_attempts (range_id, seq, attempt_no, state, epoch, phone_number_id, reason)"
        " VALUES ($1, $2, $3, $4, 1, '1001', 'x')",
        [
            (first, 1, 1, "deferred"),
            (first, 2, 0, "deferred"),
            (second, 3, 2, "claimed"),
            (second, 4, 1, "unknown"),
            (third, 1, 0, "deferred"),
        ]
        + [(second, seq, 1, "deferred") for seq in range(10, 20)],
    )
    await pool.executemany(
        "INSERT INTO outcomes (range_id, seq, attempt_no, epoch, kind, status, phone_number_id)"
        " VALUES ($1, $2, 1, 1, $3, $4, '1001')",
        [(first, 5, 1, 5), (first, 6, 2, None), (second, 7, 1, 1), (third, 2, 3, None)],
    )
    await pool.execute(
        "UPDATE range_counters SET deferred = 2, read = 1, failed = 1 WHERE range_id = $1", first
    )
    await pool.execute(
        "UPDATE range_counters SET deferred = 10, unknown = 1, accepted = 1 WHERE range_id = $1", second
    )
    await pool.execute("UPDATE range_counters SET skipped = 11, deferred = 1 WHERE range_id = $1", third)


async def test_cancel_skips_what_is_not_claimed_and_what_is_deferred(
    pool: Pool, spring: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(closing, "RANGES_A_BATCH", 2)
    await put_under_way(pool)
    before = await counted(pool)
    assert before["skipped"] == 11

    async with pool.acquire() as connection:
        moved = await service.cancel(connection, spring)
        again = await service.cancel(connection, spring)

    assert moved == CampaignChange(spring, CampaignState.CANCELLED, True, skipped=2 + 10 + 600 + 489)
    assert again == CampaignChange(spring, CampaignState.CANCELLED, False, skipped=0)
    after = await counted(pool)
    assert after["skipped"] == 11 + moved.skipped
    assert (after["deferred"], after["unknown"], after["read"]) == (0, 1, 1)
    assert after["pending"] == 1000 - 4 + 400 - 12  # claimed and without an outcome, still under way
    reasons = await pool.fetch("SELECT DISTINCT reason FROM recipient_states WHERE state = 'skipped'")
    assert {row["reason"] for row in reasons} == {"cancelled", "suppressed"}
    assert await pool.fetchval("SELECT count(*) FROM ranges WHERE state <> 'closed'") == 0


async def test_a_cancel_killed_half_way_is_finished_by_the_next(pool: Pool, spring: str) -> None:
    await put_under_way(pool)
    async with pool.acquire() as connection:
        await service.start(connection, spring)
        with pytest.MonkeyPatch.context() as patch:
            calls = []

            async def die_at_the_second(*arguments: object) -> None:
                calls.append(1)
                if len(calls) == 2:
                    raise ConnectionResetError
                await original(*arguments)  # type: ignore[arg-type]

            original = change_range_counters
            patch.setattr(closing, "RANGES_A_BATCH", 1)
            patch.setattr(closing, "change_range_counters", die_at_the_second)
            with pytest.raises(ConnectionResetError):
                await service.cancel(connection, spring)
        await counted(pool)
        assert await pool.fetchval("SELECT count(*) FROM ranges WHERE state = 'closed'") == 1

        assert not (await service.cancel(connection, spring)).changed
    assert (await counted(pool))["skipped"] == 11 + 2 + 10 + 600 + 489


@pytest.mark.parametrize("state", ["expired", "cancelled"])
async def test_an_end_that_was_killed_half_way_is_finished_by_the_next_run(
    pool: Pool, spring: str, state: str
) -> None:
    """The claims of a killed sender are put in doubt too. An expired campaign cannot be cancelled."""
    async with pool.acquire() as connection:
        await service.start(connection, spring)
        lease = await take_lease(connection, "1001", another_process())
        campaign_id = (await service.find_campaign(connection, spring)).campaign_id
        held = await take_range(connection, lease, campaign_id)
        assert held is not None
        await advance_watermark(connection, lease, held, 5, [])
        await connection.execute("UPDATE campaigns SET state = $1, reason = 'for a test'", state)
    nobody = ServiceSettings("http://127.0.0.1:9", SecretStr("t"))
    end = await run_campaign(pool, nobody, spring, stop=asyncio.Event())
    assert await counted(pool) == {"unknown": 5, "skipped": 2495}
    assert f"{state} (for a test): 2,495 of 2,500 skipped; 5 in doubt" in end.shortfall
    assert await pool.fetchval("SELECT count(*) FROM ranges WHERE state <> 'closed'") == 0


async def test_ranges_that_are_done_are_left_alone(pool: Pool, spring: str) -> None:
    await pool.execute("UPDATE ranges SET state = 'done', claimed_through = last_seq WHERE ordinal = 0")
    async with pool.acquire() as connection:
        assert (
            await close_ranges(
                connection, await pool.fetchval("SELECT campaign_id FROM campaigns"), "expired"
            )
            == 1500
        )
    assert await pool.fetchval("SELECT state FROM ranges WHERE ordinal = 0") == "done"
    assert await counted(pool) == {"pending": 1000, "skipped": 1500}


async def test_a_finished_campaign_cannot_be_cancelled(pool: Pool, spring: str) -> None:
    await pool.execute("UPDATE campaigns SET state = 'finished'")
    async with pool.acquire() as connection:
        with pytest.raises(IllegalTransition):
            await service.cancel(connection, spring)
    assert (await counted(pool))["skipped"] == 0
