"""Waiting for statuses ends with the last one, at its time, when asked, or when the campaign sends again."""

import asyncio

import pytest

from drumbeat.campaigns.life import settling
from drumbeat.campaigns.life.settling import until_settled
from drumbeat.engine.core.states import RecipientState
from drumbeat.engine.store.database import Connection, Pool
from tests.kit.planted import FIRST_RANGE, age, plant_campaign, put_in_doubt


@pytest.fixture(autouse=True)
def short_period(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settling, "PERIOD_S", 0.01)


async def finished(connection: Connection) -> int:
    """A finished campaign of ten, eight delivered and two only sent."""
    campaign_id = await plant_campaign(connection, state="finished")
    await connection.execute("UPDATE range_counters SET delivered = 8, sent = 2")
    return campaign_id


async def wait_for(pool: Pool, campaign_id: int, *, whole_life: bool = False) -> asyncio.Task[object]:
    task: asyncio.Task[object] = asyncio.create_task(
        until_settled(pool, campaign_id, timeout_s=30, stop=asyncio.Event(), whole_life=whole_life)
    )
    done, _ = await asyncio.wait([task], timeout=0.1)
    assert not done, "it waits"
    return task


async def test_it_ends_with_the_last_status(pool: Pool, connection: Connection) -> None:
    waiting = await wait_for(pool, await finished(connection))
    await connection.execute("UPDATE range_counters SET sent = 0, failed = 2")
    status = await waiting
    assert status.counts[RecipientState.FAILED] == 2  # type: ignore[attr-defined]


async def test_it_ends_when_the_campaign_sends_again(pool: Pool, connection: Connection) -> None:
    waiting = await wait_for(pool, await finished(connection))
    await connection.execute("UPDATE campaigns SET state = 'running'")
    status = await waiting
    assert status.unsettled == 2  # type: ignore[attr-defined]


async def test_it_ends_at_its_time_or_when_asked(pool: Pool, connection: Connection) -> None:
    campaign_id = await finished(connection)
    stop = asyncio.Event()
    assert (await until_settled(pool, campaign_id, timeout_s=0.05, stop=stop)).unsettled == 2
    stop.set()
    assert (await until_settled(pool, campaign_id, timeout_s=None, stop=stop)).unsettled == 2


async def test_whoever_watches_sees_the_sending_too(pool: Pool, connection: Connection) -> None:
    campaign_id = await finished(connection)
    await connection.execute("UPDATE campaigns SET state = 'running'")
    waiting = await wait_for(pool, campaign_id, whole_life=True)
    await connection.execute("UPDATE range_counters SET sent = 0, delivered = 10")
    await connection.execute("UPDATE campaigns SET state = 'finished'")
    assert (await waiting).unsettled == 0  # type: ignore[attr-defined]


@pytest.mark.parametrize("policy", ["hold", "resend-silent"])
async def test_it_sends_again_when_the_policy_allows_that(
    pool: Pool, connection: Connection, policy: str
) -> None:
    """The campaign runs again, so that whoever waits can send."""
    campaign_id = await plant_campaign(connection, state="finished", on_unknown=policy)
    await put_in_doubt(connection, FIRST_RANGE, 1)
    await age(connection, 10)
    waiting = asyncio.create_task(
        until_settled(pool, campaign_id, timeout_s=1, stop=asyncio.Event(), silence_s=10)
    )
    status = await waiting
    assert (status.state, status.in_doubt) == (("finished", 1) if policy == "hold" else ("running", 0))
