"""While the service does not answer, pages and lists of numbers and campaigns say so."""

from drumbeat.campaigns.account.number_state import NumberState, number_state
from drumbeat.campaigns.account.numbers import list_numbers
from drumbeat.campaigns.life.control import list_campaigns
from drumbeat.campaigns.results.campaign_pages import whys_of
from drumbeat.engine.app import SERVICE_AWAY
from drumbeat.engine.store.database import Pool
from tests.console.conftest import NUMBER, Caller


async def test_numbers_and_campaigns_say_that_the_service_is_away(pool: Pool, manager: Caller) -> None:
    await pool.execute(
        "UPDATE campaigns SET state = 'running', reason = $1, reason_code = 'service_away', finished_at = NULL",
        f"waiting: {SERVICE_AWAY}",
    )
    await pool.execute(
        "UPDATE numbers SET owner = 'w', released = false, leased_until = now() + interval '1 minute', rate_per_s = 80"
        " WHERE phone_number_id = $1",
        NUMBER,
    )
    found = {number.phone_number_id: number for number in await list_numbers(pool)}
    assert number_state(found[NUMBER]) is NumberState.AWAY
    assert "the service does not answer" in (await manager.get("/numbers")).text
    assert "The service does not answer" in (await manager.get("/campaigns/spring")).text


async def test_a_campaign_whose_number_is_not_stored_is_still_listed(pool: Pool, manager: Caller) -> None:
    """As in a restored database that is older than the number."""
    await pool.execute("UPDATE campaigns SET phone_number_ids = phone_number_ids || '{gone}'::text[]")
    async with pool.acquire() as connection:
        listed = await list_campaigns(connection)
        assert set(await whys_of(connection, listed)) == {campaign.campaign_id for campaign in listed}
    assert (await manager.get("/campaigns")).status == 200
