"""After an event about a template, a sender compares it with the campaigns, and pauses those that misfit."""

from typing import Any

from structlog.testing import capture_logs

from drumbeat.emulator.testing import Emulator
from drumbeat.engine.store.database import Pool
from drumbeat.engine.store.queries import queries
from tests.kit.rows import add_template
from tests.sending.planted import SLOW, TEMPLATE, Planted, campaign_row, plant_campaign, plant_numbers
from tests.sending.running import accepted_phones, fault, serving, started, until

LONG = 5_000  # recipients: at 20/s, nobody reaches the end within a test
ADDED = "Hi {{1}}, your order {{2}} is on its way with {{3}}."


async def planted(pool: Pool) -> Planted:
    async with pool.acquire() as connection:
        await plant_numbers(connection, **{SLOW: 20})
        await add_template(connection, TEMPLATE["name"], TEMPLATE["definition"], TEMPLATE["language"])
        return await plant_campaign(connection, recipients=LONG)


def edit(emulator: Emulator, text: str) -> str:
    """Give the template another text at the service, and return the account."""
    waba = emulator.service.config.waba
    template = emulator.service.accounts[waba].book.get("order_shipped", "en_US")
    assert template is not None
    template.components = [{"type": "BODY", "text": text}]
    return waba


async def hear(pool: Pool) -> None:
    """What the receiver does with an event about the template."""
    await pool.execute(queries("inbox")["set_template_status"], "order_shipped", "en_US", "APPROVED", None)


async def compared(pool: Pool) -> bool:
    return await pool.fetchval("SELECT bool_and(compare_at IS NULL) FROM templates") is True


async def state_of(pool: Pool, campaign: Planted) -> tuple[str, str]:
    async with pool.acquire() as connection:
        return await campaign_row(connection, campaign.campaign_id)


async def test_an_event_pauses_a_campaign_whose_placeholders_changed(pool: Pool) -> None:
    campaign = await planted(pool)

    async def is_paused() -> bool:
        return (await state_of(pool, campaign))[0] == "paused"

    async with serving() as emulator:
        waba = emulator.service.config.waba
        async with started(pool, emulator, waba_id=waba):
            await until(lambda: bool(accepted_phones(emulator)))
            edit(emulator, ADDED)
            await hear(pool)
            await until(is_paused)
    _, reason = await state_of(pool, campaign)
    assert reason == (
        "its template changed after the campaign was created: order_shipped (en_US): body {{3}} was added"
    )
    assert await pool.fetchval("SELECT reason_code FROM campaigns") == "template_changed"
    assert await compared(pool)


async def test_another_text_is_told_and_sending_goes_on(pool: Pool) -> None:
    campaign = await planted(pool)
    with capture_logs() as lines:
        async with serving() as emulator:
            waba = edit(emulator, "Hello {{1}}, order {{2}} left us.")
            async with started(pool, emulator, waba_id=waba):
                await hear(pool)
                await until(lambda: compared(pool))
    told: list[Any] = [line["templates"] for line in lines if line["event"] == "template_text_changed"]
    assert told == [["order_shipped (en_US)"]]
    assert (await state_of(pool, campaign))[0] == "running"


async def test_a_comparison_that_failed_is_repeated(pool: Pool) -> None:
    await planted(pool)
    with capture_logs() as lines:
        async with serving() as emulator:
            async with started(pool, emulator):  # the settings do not name the account
                await hear(pool)
                await until(lambda: any(line["event"] == "templates_not_read" for line in lines))
            assert not await compared(pool)
            waba = edit(emulator, ADDED)
            await pool.execute("UPDATE templates SET compare_at = now()")  # instead of half a minute later
            async with started(pool, emulator, waba_id=waba):
                await until(lambda: compared(pool))
    assert await pool.fetchval("SELECT state FROM campaigns") == "paused"


async def test_a_scheduled_campaign_whose_template_is_paused_is_paused_at_its_start(pool: Pool) -> None:
    """No event told it, and the service was asked when a person released it."""
    campaign = await planted(pool)
    await pool.execute("UPDATE campaigns SET state = 'scheduled', start_at = now() + interval '1 second'")

    async def is_paused() -> bool:
        return (await state_of(pool, campaign))[0] == "paused"

    async with serving(fault("refusal", code=131016)) as emulator:  # no refusal of a message tells it either
        waba = emulator.service.config.waba
        template = emulator.service.accounts[waba].book.get("order_shipped", "en_US")
        assert template is not None
        template.status = "PAUSED"
        async with started(pool, emulator, waba_id=waba):
            await until(is_paused)
            _, reason = await state_of(pool, campaign)
            code = await pool.fetchval("SELECT reason_code FROM campaigns")
    assert reason == "the template order_shipped (en_US) is paused by the service"
    assert code == "template_refused"
