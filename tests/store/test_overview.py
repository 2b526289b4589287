"""What metrics say of the whole installation equals what the database holds, and costs one read in a period."""

import asyncio

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from drumbeat.engine.store import overview
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.metrics import DatabaseMetrics
from drumbeat.engine.store.overview import OverviewReader
from drumbeat.engine.store.statement_times import StatementTimes
from tests.metrics_text import value
from tests.sending.planted import FAST, SLOW, plant_campaign, plant_numbers


async def read(pool: Pool) -> str:
    """The installation's metrics as a scrape shows them."""
    reader = OverviewReader(pool)
    await reader.refresh()
    registry = CollectorRegistry()
    registry.register(DatabaseMetrics(StatementTimes(), reader, lambda: True))
    return generate_latest(registry).decode()


async def named(connection: Connection, name: str, **columns: object) -> None:
    """A campaign of ten recipients with this name; the columns are set afterwards."""
    campaign = await plant_campaign(connection)
    await connection.execute(
        "UPDATE campaigns SET name = $2 WHERE campaign_id = $1", campaign.campaign_id, name
    )
    for column, content in columns.items():
        await connection.execute(f"UPDATE campaigns SET {column} = $2 WHERE name = $1", name, content)


async def test_campaigns_by_state_and_by_their_reason(pool: Pool, connection: Connection) -> None:
    await named(connection, "token", state="paused", reason_code="authentication_failed")
    await named(connection, "night", reason_code="window_closed")
    await named(connection, "resent", reason_code="resending")
    text = await read(pool)
    assert value(text, "drumbeat_campaigns", state="running") == 2
    assert value(text, "drumbeat_campaigns", state="paused") == 1
    assert value(text, "drumbeat_campaigns", state="cancelled") == 0
    paused = {"campaign": "token", "reason_code": "authentication_failed"}
    assert value(text, "drumbeat_campaign_paused", **paused) == 1
    assert value(text, "drumbeat_campaign_paused") == 1
    assert value(text, "drumbeat_campaign_waiting", campaign="night", reason_code="window_closed") == 1
    assert value(text, "drumbeat_campaign_waiting") == 1, "one that resends does not wait"
    assert value(text, "drumbeat_campaign_recipients", campaign="night", state="pending") == 10
    assert value(text, "drumbeat_campaign_recipients", campaign="night") == 10


async def test_campaigns_that_ended_long_ago_have_no_series(pool: Pool, connection: Connection) -> None:
    await named(connection, "old", state="finished")
    await named(connection, "new", state="finished")
    await connection.execute(
        "UPDATE campaigns SET finished_at = now() - CASE name WHEN 'old' THEN interval '16 minutes'"
        " ELSE interval '14 minutes' END"
    )
    text = await read(pool)
    assert value(text, "drumbeat_campaign_recipients", campaign="old") is None
    assert value(text, "drumbeat_campaign_recipients", campaign="new") == 10
    assert value(text, "drumbeat_campaigns", state="finished") == 2


async def test_the_series_of_campaigns_are_bounded(
    pool: Pool, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overview, "CAMPAIGNS_MAX", 1)
    await named(connection, "first")
    await named(connection, "second")
    text = await read(pool)
    assert value(text, "drumbeat_campaign_recipients", campaign="first") is None
    assert value(text, "drumbeat_campaign_recipients", campaign="second") == 10


async def test_numbers_that_are_owned_blocked_and_in_doubt(pool: Pool, connection: Connection) -> None:
    await plant_numbers(connection, **{SLOW: 80, FAST: 1000, "3": 80})
    await connection.execute(
        "UPDATE numbers SET released = false, leased_until = now() + interval '5 seconds', stopped = true"
        " WHERE phone_number_id = $1",
        SLOW,
    )
    await connection.execute(
        "UPDATE numbers SET suspended_until = now() + interval '1 hour', released = false,"
        " leased_until = now() - interval '1 second' WHERE phone_number_id = $1",
        FAST,
    )
    await connection.execute(
        "UPDATE numbers SET suspended_until = now() - interval '1 second' WHERE phone_number_id = '3'"
    )
    await connection.execute(
        "INSERT INTO event_flow (phone_number_id, last_event_at) VALUES ($1, now() - interval '1 minute')",
        SLOW,
    )
    await in_doubt(connection)
    text = await read(pool)
    owned = [value(text, "drumbeat_number_owned", number=number) for number in (SLOW, FAST, "3")]
    assert owned == [1, 0, 0]
    assert value(text, "drumbeat_number_blocked", number=SLOW, reason_code="stopped") == 1
    assert value(text, "drumbeat_number_blocked", number=FAST, reason_code="suspended") == 1
    assert value(text, "drumbeat_number_blocked") == 2
    doubts = [value(text, "drumbeat_recipients_in_doubt", number=number) for number in (SLOW, FAST, "3")]
    assert doubts == [2, 0, 0]
    assert value(text, "drumbeat_event_age_seconds", number=SLOW) == pytest.approx(60, abs=30)
    assert value(text, "drumbeat_event_age_seconds", number=FAST) is None


async def in_doubt(connection: Connection) -> None:
    """Two recipients of SLOW in doubt, and one that is only deferred."""
    campaign = await plant_campaign(connection)
    await connection.executemany(
        "INSERT INTO pending_attempts (range_id, seq, attempt_no, state, epoch, phone_number_id, reason)"
        " VALUES ($1, $2, 1, $3, 1, $4, '')",
        [
            (campaign.range_ids[0], seq, state, SLOW)
            for seq, state in enumerate(("unknown", "unknown", "deferred"), 1)
        ],
    )


async def test_events_that_are_not_applied_and_those_that_match_nothing(
    pool: Pool, connection: Connection
) -> None:
    text = await read(pool)
    assert value(text, "drumbeat_inbox_events") == value(text, "drumbeat_inbox_oldest_seconds") == 0
    await connection.execute(
        "INSERT INTO inbox_groups (received_at, events, statuses, status_us, wamids)"
        " VALUES (now() - interval '1 minute', 2, '{2,2}', '{1,1}', '{a,b}'), (now(), 1, '{2}', '{1}', '{c}')"
    )
    await connection.execute("INSERT INTO inbox (wamid, status, status_at) VALUES ('d', 2, now())")
    text = await read(pool)
    assert value(text, "drumbeat_inbox_events") == 3
    assert value(text, "drumbeat_inbox_oldest_seconds") == pytest.approx(60, abs=30)
    assert value(text, "drumbeat_inbox_unmatched_events") == 1


async def test_many_scrapes_are_one_read_in_a_period(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = OverviewReader(pool)
    await asyncio.gather(*(reader.refresh() for _ in range(5)))
    first = reader.latest
    await reader.refresh()
    assert reader.latest is first is not None
    monkeypatch.setattr(overview, "PERIOD_NS", 0)
    await reader.refresh()
    assert reader.latest is not first


async def test_a_database_that_does_not_answer_leaves_no_old_facts(
    pool: Pool, other: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overview, "PERIOD_NS", 0)
    monkeypatch.setattr(overview, "READ_S", 0.3)
    reader = OverviewReader(pool)
    await reader.refresh()
    assert reader.latest is not None
    async with other.transaction():
        await other.execute("LOCK TABLE campaigns IN ACCESS EXCLUSIVE MODE")
        await reader.refresh()
        assert reader.latest is None
    monkeypatch.setattr(overview, "READ_S", 10.0)
    await reader.refresh()
    assert reader.latest is not None
