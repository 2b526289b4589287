"""Databases of released versions: each dump in `fixtures` is restored, upgraded, and its campaign goes on.

`fixtures/make_dump.py` says what is in a dump and when to make one. A made-up version follows those that ship, so that
also the dump of the newest one is upgraded.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from drumbeat.engine.core.states import CampaignEvent, ReasonCode
from drumbeat.engine.store import schema_version
from drumbeat.engine.store.campaign_states import apply_event
from drumbeat.engine.store.database import Connection, connect, open_pool
from drumbeat.engine.store.in_doubt import summarise_in_doubt
from drumbeat.engine.store.installation import identify
from drumbeat.engine.store.migrate import is_current, migrate
from drumbeat.engine.store.schema_version import Migration, migrations
from drumbeat.engine.store.status_applier import apply_statuses
from tests.kit.planted import make_all_due
from tests.sending.planted import FAST, SLOW, Planted, assert_range_counters_hold, counts, recount
from tests.sending.running import run_to_end, serving

DUMPS = sorted((Path(__file__).parent / "fixtures").glob("schema_*.sql"))
# What versions do: a column of tables with partitions, a rewrite of rows, a rule for them, an index.
MADE_UP = """
ALTER TABLE recipients ADD COLUMN made_up integer;
ALTER TABLE outcomes ADD COLUMN made_up integer NOT NULL DEFAULT 1;
UPDATE recipients SET made_up = seq;
ALTER TABLE recipients ALTER COLUMN made_up SET NOT NULL, ALTER COLUMN made_up SET DEFAULT 0, ADD CHECK (made_up >= 0);
CREATE INDEX recipients_made_up ON recipients (made_up);
"""
HALF_SENT = {
    "delivered": 1, "read": 1, "sent": 1, "accepted": 2, "failed": 2, "skipped": 2, "deferred": 2, "unknown": 1,
    "pending": 28,
}  # fmt: skip


@pytest.fixture(params=DUMPS, ids=lambda dump: dump.stem)
async def upgraded(
    request: pytest.FixtureRequest, empty_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> str:
    connection = await connect(empty_database_url)
    await connection.execute(request.param.read_text("utf-8"))
    await connection.close()
    versions = (*migrations(), Migration(len(migrations()) + 1, "made_up", MADE_UP))
    monkeypatch.setattr(schema_version, "migrations", lambda: versions)
    number = int(request.param.stem.removeprefix("schema_"))
    assert await migrate(empty_database_url) == [each for each in versions if each.number > number]
    return empty_database_url


@pytest.fixture
async def connection(upgraded: str) -> AsyncIterator[Connection]:
    async with open_pool(upgraded, size=1, by_key=True) as pool, pool.acquire() as connection:
        yield connection


async def half_sent(connection: Connection) -> Planted:
    row = await connection.fetchrow("SELECT campaign_id, recipients FROM campaigns WHERE state = 'running'")
    assert row is not None
    ranges = await connection.fetch(
        "SELECT range_id FROM ranges WHERE campaign_id = $1 ORDER BY ordinal", row["campaign_id"]
    )
    first_phone = await connection.fetchval(
        "SELECT min(phone) FROM recipients WHERE range_id = $1", ranges[0]["range_id"]
    )
    return Planted(row["campaign_id"], [each["range_id"] for each in ranges], first_phone, row["recipients"])


async def test_an_upgrade_keeps_every_recipient_in_its_state(connection: Connection) -> None:
    campaign = await half_sent(connection)
    assert await is_current(connection)
    assert await counts(connection, campaign.campaign_id) == HALF_SENT
    assert await recount(connection, campaign.campaign_id) == HALF_SENT
    await assert_range_counters_hold(connection)


async def test_events_that_waited_are_applied_after_an_upgrade(connection: Connection) -> None:
    campaign = await half_sent(connection)
    await make_all_due(connection)
    applied = await apply_statuses(connection)
    assert (applied.taken, applied.returned) == (2, 0)
    after = {**HALF_SENT, "accepted": 0, "delivered": 2, "sent": 2}
    assert await counts(connection, campaign.campaign_id) == {
        state: many for state, many in after.items() if many
    }
    await assert_range_counters_hold(connection)


async def test_a_restored_database_sends_only_after_a_person_resumes_it(connection: Connection) -> None:
    campaign = await half_sent(connection)
    await identify(connection)
    row = await connection.fetchrow(
        "SELECT state, reason_code FROM campaigns WHERE campaign_id = $1", campaign.campaign_id
    )
    assert row is not None
    assert tuple(row) == ("paused", ReasonCode.DATABASE_ROLLED_BACK)


async def test_the_rest_of_the_campaign_is_sent_after_an_upgrade(upgraded: str) -> None:
    async with open_pool(upgraded, size=8, by_key=True) as pool, serving(**{SLOW: 300}) as emulator:
        async with pool.acquire() as connection:
            campaign = await half_sent(connection)
            await identify(connection)
            await apply_event(connection, campaign.campaign_id, CampaignEvent.RESUME, "")
        assert (await run_to_end(pool, emulator, campaign)).state == "finished"
        async with pool.acquire() as connection:
            now = await counts(connection, campaign.campaign_id)
            assert now == await recount(connection, campaign.campaign_id)
            assert {state for state in now if state in ("pending", "deferred")} == set()
            assert now.total() == campaign.recipients
            await assert_range_counters_hold(connection)
            in_doubt = await summarise_in_doubt(connection, campaign.campaign_id)
            assert in_doubt.recipients == now["unknown"]
            stopped = "SELECT stopped AND epoch = 0 FROM numbers WHERE phone_number_id = $1"
            assert await connection.fetchval(stopped, FAST), "nobody sent with it"
