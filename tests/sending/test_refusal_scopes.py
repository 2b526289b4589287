"""Refusals in a row stop the smallest scope that explains them, and the rest is sent."""

from drumbeat.engine.core.refusal_runs import IN_A_ROW_MAX
from drumbeat.engine.core.states import ReasonCode
from drumbeat.engine.store.database import Pool
from tests.api import loopback
from tests.api.transports import answering
from tests.sending.planted import FAST, SLOW, campaign_row, counts, plant_campaign, plant_numbers
from tests.sending.running import accepted_by_number, fault, run_to_end, serving

RATES_PER_S = {SLOW: 100.0, FAST: 100.0}
IN_FLIGHT_MAX = 60  # claimed before the twentieth refusal came back


async def test_a_test_number_is_stopped_and_the_other_number_sends_its_part(pool: Pool) -> None:
    async with pool.acquire() as connection:
        await plant_numbers(connection, **RATES_PER_S)
        campaign = await plant_campaign(connection, recipients=300, range_size=50, numbers=(SLOW, FAST))
    async with serving(fault("refusal", code=131030, number=SLOW), **RATES_PER_S) as emulator:
        assert (await run_to_end(pool, emulator, campaign, (SLOW, FAST))).state == "finished"
        sent = accepted_by_number(emulator)
    async with pool.acquire() as connection:
        failed = (await counts(connection, campaign.campaign_id))["failed"]
        why = await connection.fetchval("SELECT suspended_reason FROM numbers WHERE stopped")
    assert IN_A_ROW_MAX <= failed <= IN_A_ROW_MAX + IN_FLIGHT_MAX
    assert sent == {FAST: 300 - failed}
    assert why.startswith("20 recipients in a row were refused") and "131030" in why


async def test_a_number_that_refuses_what_another_one_sends_is_stopped_whatever_the_code(pool: Pool) -> None:
    """132012 usually means the campaign, which the other number sends well."""
    async with pool.acquire() as connection:
        await plant_numbers(connection, **RATES_PER_S)
        campaign = await plant_campaign(connection, recipients=300, range_size=50, numbers=(SLOW, FAST))
    async with serving(fault("refusal", code=132012, number=SLOW), **RATES_PER_S) as emulator:
        assert (await run_to_end(pool, emulator, campaign, (SLOW, FAST))).state == "finished"
    async with pool.acquire() as connection:
        failed = (await counts(connection, campaign.campaign_id))["failed"]
        assert await connection.fetchval("SELECT phone_number_id FROM numbers WHERE stopped") == SLOW
    assert failed <= IN_A_ROW_MAX + IN_FLIGHT_MAX


async def test_a_proxy_that_wants_a_login_pauses_every_campaign_and_says_what_to_do(pool: Pool) -> None:
    async with pool.acquire() as connection:
        await plant_numbers(connection, **RATES_PER_S)
        campaign = await plant_campaign(connection, recipients=300)
    async with serving() as emulator, loopback.serving(answering(407, b"who are you?")) as proxy:
        ended = await run_to_end(pool, emulator, campaign, base_url=proxy.base_url)
    assert ended.state == "paused" and "DRUMBEAT_PROXY_URL" in ended.reason
    async with pool.acquire() as connection:
        assert (await campaign_row(connection, campaign.campaign_id))[0] == "paused"
        code = await connection.fetchval("SELECT reason_code FROM campaigns")
        failed = (await counts(connection, campaign.campaign_id))["failed"]
    assert code == ReasonCode.ADDRESS_REFUSED
    assert failed <= IN_A_ROW_MAX + IN_FLIGHT_MAX
