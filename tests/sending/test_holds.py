"""The service asks a number to wait: its claims are released, and a long wait suspends the number."""

from collections import Counter

import pytest
from pydantic import SecretStr

from drumbeat.engine.core.pace import rate_governor
from drumbeat.engine.process.settings import ServiceSettings
from drumbeat.engine.store.database import Connection, Pool
from tests.api import loopback
from tests.api.loopback import Conversation, Server
from tests.sending.planted import SLOW, Planted, counts, plant_campaign, plant_numbers
from tests.sending.running import Runner, assert_counts, until

THROTTLE = b'{"error":{"code":130429,"message":"Rate limit hit"}}'


async def throttling(server: Server, conversation: Conversation) -> None:
    while await server.read(conversation):
        await conversation.answer(429, THROTTLE, "Retry-After: 3600")


async def planted(connection: Connection) -> Planted:
    await plant_numbers(connection, **{SLOW: 100})
    return await plant_campaign(connection, recipients=300, range_size=100)


async def test_claims_of_a_number_that_must_wait_are_deferred(
    pool: Pool, other: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If it stayed claimed, it would be in doubt if this process died now, and no other number could send it."""
    monkeypatch.setattr(rate_governor, "HOLD_S_MAX", 1e9)
    campaign = await planted(other)

    async def all_deferred() -> bool:
        claimed = await other.fetchval("SELECT sum(claimed_through) FROM ranges")
        return bool(server.requests) and (await stored_counts())["deferred"] == claimed > 0

    async def stored_counts() -> Counter[str]:
        return await counts(other, campaign.campaign_id)

    async with loopback.serving(throttling) as server:
        runner = Runner(pool, settings(server), (SLOW,), campaign.campaign_id)
        await until(all_deferred)
        await runner.drained()
    await assert_counts(pool, campaign, **await stored_counts())


async def test_a_long_wait_is_a_rest_with_its_reason_and_frees_the_ranges(
    pool: Pool, other: Connection
) -> None:
    campaign = await planted(other)

    async def rests() -> bool:
        row = await other.fetchrow(
            "SELECT suspended_reason, suspended_until > now() + interval '50 minutes' AS for_long,"
            " (SELECT count(*) FROM ranges WHERE phone_number_id IS NOT NULL) AS held FROM numbers"
        )
        reason = "the service asked to wait for 3600 s"
        return row is not None and tuple(row) == (reason, True, 0)

    async with loopback.serving(throttling) as server:
        runner = Runner(pool, settings(server), (SLOW,), campaign.campaign_id)
        await until(rests)
        assert not runner.task.done()
        await runner.drained()
    assert set(await counts(other, campaign.campaign_id)) == {"deferred", "pending"}


def settings(server: Server) -> ServiceSettings:
    return ServiceSettings(server.base_url, SecretStr("token"))
