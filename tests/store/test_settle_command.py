"""`drumbeat campaign settle`: lists recipients in doubt, settles them as a person decides, and refuses contradictions."""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import orjson
import pytest

from drumbeat.campaigns.life.settle import settle_campaign
from drumbeat.engine.core.limits.guard import OPTED_OUT
from drumbeat.engine.store.database import Pool
from tests.kit.planted import FIRST_RANGE, NUMBER, plant_campaign, put_in_doubt

pytestmark = pytest.mark.usefixtures("warm_starts")


async def settle(database_url: str, *arguments: str, **settings: str) -> tuple[int, str, str]:
    """Exit code, stdout, stderr."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "drumbeat.campaigns.cli", "campaign", "settle", *arguments),
        env={**os.environ, "DRUMBEAT_DATABASE_URL": database_url, **settings},
        stdout=PIPE,
        stderr=PIPE,
        cwd=Path(__file__).parents[2],
    )
    async with asyncio.timeout(60):
        out, errors = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), errors.decode()


async def test_recipients_in_doubt_are_listed_and_settled(database_url: str, pool: Pool) -> None:
    async with pool.acquire() as connection:
        campaign = await plant_campaign(connection)
        await connection.execute("UPDATE campaigns SET planned_at = now()")
        # The owner of the other claims lives: only what it put in doubt counts.
        await connection.execute(
            "UPDATE numbers SET released = false, leased_until = now() + interval '1 hour'"
        )
        name = await connection.fetchval("SELECT name FROM campaigns WHERE campaign_id = $1", campaign)
        await put_in_doubt(connection, FIRST_RANGE, 1, 2)
    code, out, _ = await settle(database_url, name)
    assert code == 0
    assert "in doubt: 2" in out
    code, out, _ = await settle(database_url, name, "--assume-sent", "--json")
    summary = orjson.loads(out)
    assert code == 0
    assert (summary["action"], summary["recipients"], summary["in_doubt"]) == ("assume-sent", 2, 0)
    assert await pool.fetchval("SELECT actor FROM audit")
    assert (await settle(database_url, name, "--resend", "--assume-sent"))[0] == 2


async def test_after_a_restore_the_lost_time_comes_first(database_url: str, pool: Pool) -> None:
    """Those of the lost time are not in doubt yet: a resend before would miss them, and a resume send to them again."""
    async with pool.acquire() as connection:
        campaign = await plant_campaign(connection)
        await connection.execute("UPDATE campaigns SET planned_at = now()")
        await put_in_doubt(connection, FIRST_RANGE, 1)
        name = await connection.fetchval("SELECT name FROM campaigns WHERE campaign_id = $1", campaign)
    assert "--resend or --assume-sent settles them now" in (await settle(database_url, name))[1]
    await pool.execute("UPDATE campaigns SET state = 'paused', reason_code = 'database_rolled_back'")
    _, out, _ = await settle(database_url, name)
    assert f"first `drumbeat campaign settle '{name}' --lost SECONDS`" in out
    assert "settles them now" not in out


async def test_the_claims_of_a_killed_sender_are_put_in_doubt_before_anything_is_settled(pool: Pool) -> None:
    """Otherwise no recipient would be in doubt yet, and `--assume-sent` would miss those it is meant for."""
    async with pool.acquire() as connection:
        campaign = await plant_campaign(connection, claimed_through=2)
        await connection.execute("UPDATE campaigns SET planned_at = now()")
        name = await connection.fetchval("SELECT name FROM campaigns WHERE campaign_id = $1", campaign)
    settled = await settle_campaign(pool, name, "assume-sent", silence_s=900.0, actor="test")
    assert (settled.recipients, settled.left.recipients) == (2, 0)


NOBODY = {"DRUMBEAT_BASE_URL": "http://127.0.0.1:9", "DRUMBEAT_ACCESS_TOKEN": "x"}  # sending ends with 69


async def planted(pool: Pool, claimed_through: int) -> str:
    """A running campaign of ten, of whom its dead sender left `claimed_through` in doubt; returns its name."""
    async with pool.acquire() as connection:
        campaign = await plant_campaign(connection, claimed_through=claimed_through)
        await connection.execute("UPDATE campaigns SET planned_at = now(), name = 'x y'")
        await connection.execute("UPDATE numbers SET released = true, leased_until = now()")
        await put_in_doubt(connection, FIRST_RANGE, *range(1, claimed_through + 1))
        name: str = await connection.fetchval("SELECT name FROM campaigns WHERE campaign_id = $1", campaign)
        return name


async def test_a_resend_only_queues_where_others_wait_too(database_url: str, pool: Pool) -> None:
    name = await planted(pool, claimed_through=2)
    code, out, errors = await settle(database_url, name, "--resend", **NOBODY)
    assert code == 0, errors
    assert "2 recipients in doubt are sent to again" in out
    assert (
        "queued: they are sent to with the remaining recipients; continue with: drumbeat campaign run 'x y'"
        in errors
    )
    assert await pool.fetchval("SELECT count(*) FROM pending_attempts WHERE state = 'deferred'") == 2


@pytest.mark.parametrize("reached", [0, 10])
async def test_a_resend_with_nobody_in_doubt_sends_nothing(
    database_url: str, pool: Pool, reached: int
) -> None:
    """Whether other recipients are deferred or none."""
    name = await planted(pool, claimed_through=0)
    await pool.execute("UPDATE range_counters SET accepted = $1", reached)
    code, out, errors = await settle(database_url, name, "--resend", **NOBODY)
    assert code == 0, errors
    assert "nobody is in doubt" in out
    assert ("wait for a message" in errors) == (reached == 0)


async def test_a_repeated_resend_reports_the_recipients_who_still_wait(database_url: str, pool: Pool) -> None:
    """The first resend was interrupted before it had sent to them."""
    name = await planted(pool, claimed_through=2)
    await settle(database_url, name, "--resend", **NOBODY)
    code, out, errors = await settle(database_url, name, "--resend", **NOBODY)
    assert (code, "nobody is in doubt" in out) == (0, True)
    waiting = "10 recipients wait for a message, perhaps a second one"
    assert f"{waiting}; continue with: drumbeat campaign run 'x y'" in errors
    await pool.execute("UPDATE campaigns SET state = 'paused', reason = 'by hand'")
    code, _, errors = await settle(database_url, name, "--resend", **NOBODY)
    assert (
        f"{waiting}; the campaign is paused (by hand); lift the pause with `drumbeat campaign resume 'x y'`"
        in errors
    )


async def test_a_resend_lifts_no_pause(database_url: str, pool: Pool) -> None:
    name = await planted(pool, claimed_through=10)
    await pool.execute("UPDATE campaigns SET state = 'paused', reason = 'by hand'")
    code, _, errors = await settle(database_url, name, "--resend", **NOBODY)
    assert code == 0, errors
    assert "queued; the campaign is paused (by hand)" in errors


async def test_a_resend_sends_where_nobody_else_is_left(database_url: str, pool: Pool) -> None:
    name = await planted(pool, claimed_through=10)
    code, _, errors = await settle(database_url, name, "--resend", **NOBODY)
    assert code == 69, errors


async def test_a_resend_is_not_proposed_for_a_campaign_that_sends_no_more(
    database_url: str, pool: Pool
) -> None:
    name = await planted(pool, claimed_through=2)
    _, out, _ = await settle(database_url, name)
    assert "--resend or --assume-sent settles them now" in out
    await pool.execute("UPDATE campaigns SET state = 'expired'")
    _, out, _ = await settle(database_url, name)
    assert "; --assume-sent settles them now" in out
    code, _, errors = await settle(database_url, name, "--resend")
    assert code == 2
    assert "an expired campaign sends nothing again" in errors


async def test_a_resend_is_no_way_out_for_who_opted_out(database_url: str, pool: Pool) -> None:
    """Each resend would only put them in doubt again."""
    name = await planted(pool, claimed_through=2)
    silent = "UPDATE pending_attempts SET reason = $1 || ' before it was sent again' WHERE seq <= $2"
    await pool.execute(silent, OPTED_OUT, 1)
    _, out, _ = await settle(database_url, name)
    assert "--resend or --assume-sent settles them now" in out
    await pool.execute(silent, OPTED_OUT, 2)
    _, out, _ = await settle(database_url, name)
    assert "; --assume-sent settles them now" in out


async def test_how_long_an_event_must_be_missing_is_a_setting(database_url: str, pool: Pool) -> None:
    async with pool.acquire() as connection:
        campaign = await plant_campaign(connection)
        await put_in_doubt(connection, FIRST_RANGE, 1)
        await connection.execute("UPDATE pending_attempts SET since = now() - interval '60 s'")
        await connection.execute(
            "INSERT INTO event_flow (phone_number_id, last_event_at) VALUES ($1, now())", NUMBER
        )
        name = await connection.fetchval("SELECT name FROM campaigns WHERE campaign_id = $1", campaign)
    for settings, silent in (({}, 0), ({"DRUMBEAT_SILENCE_S": "30"}, 1)):
        _, out, _ = await settle(database_url, name, "--json", **settings)
        assert orjson.loads(out)["probably_not_sent"] == silent


async def test_an_unknown_campaign_is_named_with_its_database(database_url: str) -> None:
    code, _, errors = await settle(database_url, "nobody")
    assert code == 78
    assert "nobody" in errors
    assert "database" in errors


async def test_whom_a_lost_time_may_concern_is_named(database_url: str, pool: Pool) -> None:
    name = await planted(pool, claimed_through=2)
    code, _, errors = await settle(database_url, name, "--lost", "5")
    assert code == 2 and "is for a paused campaign, and this one is running" in errors
    await pool.execute("UPDATE campaigns SET state = 'paused'")
    code, out, _ = await settle(database_url, name, "--lost", "5", "--dry-run")
    assert "in doubt: 2" in out
    code, out, _ = await settle(database_url, name, "--lost", "5")
    assert code == 0
    assert "8 recipients put in doubt: they may have been sent to in the time that was lost" in out
    assert "in doubt: 10" in out
    assert "8 at an unknown number" in out
    assert (await settle(database_url, name, "--lost", "5", "--resend"))[0] == 2
