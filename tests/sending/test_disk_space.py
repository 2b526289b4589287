"""A disk that fills up: sending stops before anything is lost, says why, and continues when space is free."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace

import asyncpg
import pytest

from drumbeat.emulator.testing import Emulator
from drumbeat.engine.clock import SECOND_NS
from drumbeat.engine.core.disk_space import MIB
from drumbeat.engine.core.states import ReasonCode
from drumbeat.engine.process import disk_space, throttled_log
from drumbeat.engine.process.disk_space import Disk
from drumbeat.engine.sending import campaign_reader
from drumbeat.engine.sending.campaign_cache import CampaignCache
from drumbeat.engine.sending.campaign_reader import Block, CampaignReader
from drumbeat.engine.store.database import Connection, Pool
from tests.sending.planted import SLOW, Planted, campaign_row, plant_campaign, plant_numbers
from tests.sending.running import assert_counts, assert_each_once, serving, stands_still, started, until

RECIPIENTS = 900
# A full database raises this error for any write.
DISK_FULL = """
CREATE FUNCTION disk_full() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$;
CREATE TRIGGER full_disk BEFORE INSERT ON outcomes FOR EACH STATEMENT EXECUTE FUNCTION disk_full();
"""


@pytest.fixture
async def campaign(pool: Pool) -> Planted:
    async with pool.acquire() as connection:
        await plant_numbers(connection, **{SLOW: 400})
        return await plant_campaign(connection, recipients=RECIPIENTS)


async def says(pool: Pool, campaign: Planted, words: str) -> None:
    """Return when the campaign is running with a reason that contains these words; empty: with no reason."""

    async def said() -> bool:
        async with pool.acquire() as connection:
            state, reason = await campaign_row(connection, campaign.campaign_id)
        return state == "running" and (words in reason if words else reason == "")

    await until(said)


async def stop_and_continue(
    pool: Pool,
    emulator: Emulator,
    campaign: Planted,
    words: str,
    fill: Callable[[], Awaitable[object]],
    clear: Callable[[], Awaitable[object]],
    disk: Disk | None = None,
) -> None:
    async with started(pool, emulator, campaign, disk=disk) as runner:
        await until(lambda: len(emulator.service.ledger) >= 50)
        await fill()
        await says(pool, campaign, words)
        assert await stands_still(pool, emulator) < RECIPIENTS
        await says(pool, campaign, words)
        await clear()
        await says(pool, campaign, "")
        assert (await runner.end()).state == "finished"
    assert_each_once(emulator, campaign)
    await assert_counts(pool, campaign, accepted=RECIPIENTS)


async def test_a_disk_that_runs_short_stops_claims_and_nothing_else(
    pool: Pool, campaign: Planted, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    free = {"bytes": 100 * MIB}
    monkeypatch.setattr(disk_space, "CHECK_PERIOD_NS", 0)
    monkeypatch.setattr(disk_space, "free_bytes", lambda _: free["bytes"])

    async def fill() -> None:
        free["bytes"] = 10 * MIB - 1

    async def clear() -> None:
        free["bytes"] = 11 * MIB

    async with serving() as emulator:
        disk = Disk(tmp_path, least_free_mib=10)
        words = f"waiting: less than 10 MiB are free for the database in {tmp_path}"
        await stop_and_continue(pool, emulator, campaign, words, fill, clear, disk)


async def test_a_database_elsewhere_that_runs_full_stops_claims_by_its_errors(
    pool: Pool, campaign: Planted
) -> None:
    async def fill() -> None:
        await pool.execute(DISK_FULL)

    async def clear() -> None:
        await pool.execute("DROP TRIGGER full_disk ON outcomes")

    async with serving() as emulator:
        words = "waiting: outcomes cannot be stored: DiskFullError"
        await stop_and_continue(pool, emulator, campaign, words, fill, clear)


async def test_a_run_that_begins_on_a_full_disk_sends_nothing(
    pool: Pool, campaign: Planted, tmp_path: Path
) -> None:
    disk = Disk(tmp_path, least_free_mib=2**40)
    async with serving() as emulator, started(pool, emulator, campaign, disk=disk) as runner:
        await says(pool, campaign, "MiB are free")
        assert (await runner.drained()).state == "running"
        assert len(emulator.service.ledger) == 0
    assert await pool.fetchval("SELECT sum(claimed_through) FROM ranges") == 0


def test_a_disk_that_cannot_be_read_blocks_nothing_and_is_logged_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    events: list[str] = []
    log = SimpleNamespace(
        warning=lambda event, **_: events.append(event), info=lambda event, **_: events.append(event)
    )
    monkeypatch.setattr(throttled_log, "log", log)
    monkeypatch.setattr(disk_space, "log", log)
    monkeypatch.setattr(disk_space, "CHECK_PERIOD_NS", 0)
    readings: list[int | OSError] = [OSError("stale"), OSError("stale"), 9 * MIB, OSError("stale"), 12 * MIB]

    def free_bytes(_: Path) -> int:
        reading = readings.pop(0)
        if isinstance(reading, OSError):
            raise reading
        return reading

    monkeypatch.setattr(disk_space, "free_bytes", free_bytes)
    disk = disk_space.DiskSpaceGuard(Disk(tmp_path, least_free_mib=10))
    assert [bool(disk.blocked_reason()) for _ in range(5)] == [False, False, True, True, False], (
        "an unreadable disk changes nothing"
    )
    assert events == ["disk_not_read", "disk_read_again", "disk_space_ran_short", "disk_space_recovered"]


def test_the_disk_is_not_read_between_two_checks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    readings: list[Path] = []
    monkeypatch.setattr(disk_space, "free_bytes", lambda directory: readings.append(directory) or MIB)
    probe = disk_space.DiskSpaceProbe(Disk(tmp_path, least_free_mib=1), 3_600 * SECOND_NS)
    assert not probe.is_short() and not probe.is_short()
    assert readings == [tmp_path]


def test_free_space_is_what_the_file_system_says(tmp_path: Path) -> None:
    before = disk_space.free_bytes(tmp_path)
    assert before > 0
    with pytest.raises(OSError, match="missing"):
        disk_space.free_bytes(tmp_path / "missing")


async def test_a_reason_that_a_full_disk_does_not_take_is_stored_later(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first read of a process that starts must not end it: it waits until there is space."""
    await plant_numbers(connection, **{SLOW: 80})
    campaign = await plant_campaign(connection, recipients=1)
    cache = CampaignCache()
    blocked = Block("the disk is nearly full", ReasonCode.DISK_FULL)
    reader = CampaignReader(cache, "chat", None, lambda: blocked)

    async def full(*_: object) -> None:
        raise asyncpg.DiskFullError("No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(campaign_reader, "set_reason", full)
        await reader.refresh(connection)
    assert not cache[campaign.campaign_id].sending
    assert (await campaign_row(connection, campaign.campaign_id))[1] == ""
    await reader.refresh(connection)
    assert (await campaign_row(connection, campaign.campaign_id))[1] == "waiting: the disk is nearly full"
