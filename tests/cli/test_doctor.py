"""What the doctor says of a database."""

import pytest

from campaigns.doctor import Level, look_at_database
from engine.store.database import Pool
from engine.store.queries import queries


async def test_a_database_that_may_forget_commits_is_warned_of(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server of the tests runs without fsync."""
    found = {finding.subject: finding for finding in await look_at_database(pool)}
    durability = found["durability of the database"]
    assert (durability.level, durability.exit_code) == (Level.WARN, 0)
    assert "fsync" in durability.remedy
    durable = queries("doctor")["database"].replace("current_setting('fsync')", "'on'")
    durable = durable.replace("current_setting('full_page_writes')", "'on'")
    monkeypatch.setitem(queries("doctor"), "database", durable)
    found = {finding.subject: finding for finding in await look_at_database(pool)}
    assert found["durability of the database"].level is Level.OK


async def test_commits_are_waited_for_whatever_the_servers_default(pool: Pool) -> None:
    """Here the server's is off."""
    assert await pool.fetchval("SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit'") == "on"
    assert await pool.fetchval("SHOW synchronous_commit") == "on"
