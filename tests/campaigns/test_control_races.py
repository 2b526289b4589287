"""Several people steer one campaign at the same moment."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from pydantic import SecretStr

from drumbeat.campaigns.life import control as service
from drumbeat.campaigns.life.control import CampaignChange
from drumbeat.campaigns.life.run import run_campaign
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.campaigns.results.status import CampaignStatus, campaign_status
from drumbeat.engine.errors import TryLater
from drumbeat.engine.process.settings import ServiceSettings
from drumbeat.engine.store.database import Connection, Pool
from tests.campaigns.conftest import WriteAudience

Steer = Callable[[Connection, str], Awaitable[CampaignChange]]


@pytest.fixture
async def spring(ready: str, write_audience: WriteAudience) -> str:
    """A planned campaign."""
    audience = write_audience("phone\n5511960000000\n5511960000001\n")
    await create_campaign(
        ready,
        CampaignSpec(
            name="spring",
            template="order",
            language="en",
            audience=audience,
            number=["1001"],
            param=["=Hi", "=you"],
        ),
    )
    return "spring"


@pytest.mark.parametrize(
    ("before", "ask"),
    [
        ((), service.start),
        ((service.start,), service.pause),
        ((service.start, service.pause), service.resume),
        ((service.start,), service.cancel),
    ],
)
async def test_of_two_who_ask_the_same_at_once_the_second_finds_it_done(
    pool: Pool, spring: str, before: tuple[Steer, ...], ask: Steer
) -> None:
    async with pool.acquire() as first, pool.acquire() as second:
        for step in before:
            await step(first, spring)
        async with first.transaction():
            assert (await ask(first, spring)).changed
            asking = asyncio.create_task(ask(second, spring))
            async with asyncio.timeout(30):
                while not await pool.fetchval(
                    "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $1",
                    second.get_server_pid(),
                ):
                    await asyncio.sleep(0.01)
        assert not (await asking).changed


async def test_a_run_that_meets_a_pause_names_its_reason_even_if_it_is_lifted_meanwhile(
    pool: Pool, spring: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lifted(asked: Pool, campaign_id: int) -> CampaignStatus:
        async with asked.acquire() as connection:
            await service.resume(connection, spring)
        return await campaign_status(asked, campaign_id)

    monkeypatch.setattr("drumbeat.campaigns.life.run.campaign_status", lifted)
    async with pool.acquire() as connection:
        await service.start(connection, spring)
        await service.pause(connection, spring)
    settings = ServiceSettings("http://127.0.0.1:9", SecretStr("token"))
    with pytest.raises(TryLater, match="is paused: paused by hand"):
        await run_campaign(pool, settings, spring, stop=asyncio.Event())
