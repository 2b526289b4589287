"""Samples of what numbers sent: one at the beginning, then one each 10 s, and rarer with the age of the campaign."""

import pytest

from drumbeat.campaigns.sql import statements
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.queries import queries
from tests.sending.planted import SLOW
from tests.store.recorded import Sending


async def sample(connection: Connection) -> int:
    """Sample if it is due; how many samples there are."""
    await connection.execute(queries("rates")["sample_rates"], None)
    return int(await connection.fetchval("SELECT count(*) FROM campaign_rates"))


@pytest.fixture
def connection(sending: Sending) -> Connection:
    return sending.connection


@pytest.fixture
async def campaign_id(connection: Connection) -> int:
    """A running campaign whose number sent 40 messages."""
    await connection.execute(
        "UPDATE campaigns SET state = 'running', started_at = now() - interval '1 minute'"
    )
    running: int = await connection.fetchval("SELECT campaign_id FROM campaigns")
    await connection.execute(
        "INSERT INTO campaign_numbers (campaign_id, phone_number_id, limit_per_s, attempts, throttled, first_attempt_at,"
        " last_attempt_at) VALUES ($1, $2, 80, 40, 1, now() - interval '1 minute', now())",
        running,
        SLOW,
    )
    return running


@pytest.mark.parametrize(
    ("age", "too_early", "due"), [("1 minute", "9 s", "11 s"), ("10 hours", "2 minutes", "4 minutes")]
)
async def test_samples_get_rarer_with_the_age(
    connection: Connection, campaign_id: int, age: str, too_early: str, due: str
) -> None:
    await connection.execute(f"UPDATE campaigns SET started_at = now() - interval '{age}'")
    assert [await sample(connection), await sample(connection)] == [1, 1]
    await connection.execute(f"UPDATE campaign_rates SET at = now() - interval '{too_early}'")
    assert await sample(connection) == 1
    await connection.execute(f"UPDATE campaign_rates SET at = now() - interval '{due}'")
    assert await sample(connection) == 2


async def test_only_running_campaigns_are_sampled(connection: Connection, campaign_id: int) -> None:
    await connection.execute("UPDATE campaigns SET state = 'paused'")
    assert await sample(connection) == 0


async def test_the_samples_span_all_that_was_sent(connection: Connection, campaign_id: int) -> None:
    """They begin with nothing at the first request, and end with the latest one, sampled or not."""
    await sample(connection)
    await connection.execute(
        "UPDATE campaign_numbers SET attempts = 50, last_attempt_at = now() + interval '1 s'"
    )
    rows = await connection.fetch(statements("rates")["of_campaign"], campaign_id, [SLOW])
    assert [(row["attempts"], row["throttled"]) for row in rows] == [(0, 0), (40, 1), (50, 1)]
