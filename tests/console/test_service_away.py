"""While the service does not answer, pages and lists of numbers and campaigns say so."""

from drumbeat.campaigns.account.number_state import NumberState, number_state
from drumbeat.campaigns.account.numbers import list_numbers
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
