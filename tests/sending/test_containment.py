"""What stands in one row, or fails in one number's loop, stops that number or campaign, and ends no process."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from drumbeat.campaigns.account.numbers import list_numbers, resume_number
from drumbeat.campaigns.cli.numbers import state_text
from drumbeat.engine.core.pace.rate_governor import RateGovernor
from drumbeat.engine.core.pace.token_bucket import TokenBucket
from drumbeat.engine.sending.feeder import Feeder
from drumbeat.engine.sending.number_pace import NumberPace
from drumbeat.engine.store.database import Connection, Pool
from tests.sending.planted import FAST, SLOW, Planted, campaign_row, plant_campaign, plant_numbers
from tests.sending.running import (
    HIGH_RATE_PER_S,
    accepted_phones,
    assert_counts,
    assert_each_once,
    run_to_end,
    serving,
    started,
    until,
)

BOTH = {SLOW: HIGH_RATE_PER_S, FAST: HIGH_RATE_PER_S}
GOOD_ROW = (
    "UPDATE numbers SET manual_limit_per_s = NULL, service_limit_per_s = 2000, epoch = 7, known_tier = NULL,"
    " messaging_limit_tier = NULL, leased_until = NULL, no_send_before = NULL WHERE phone_number_id = $1"
)


async def poison(connection: Connection, number: str, change: str) -> None:
    """Change a row of `numbers` as no statement of ours can."""
    for limit in ("manual", "service"):
        check = f"numbers_{limit}_limit_per_s_check"
        await connection.execute(f"ALTER TABLE numbers DROP CONSTRAINT IF EXISTS {check}")
    await connection.execute(f"UPDATE numbers SET {change} WHERE phone_number_id = $1", number)


async def is_stopped(connection: Connection, number: str) -> bool:
    found: bool = await connection.fetchval("SELECT stopped FROM numbers WHERE phone_number_id = $1", number)
    return found


async def plant_both(connection: Connection, recipients: int = 400) -> Planted:
    await plant_numbers(connection, **BOTH)
    return await plant_campaign(connection, recipients=recipients, range_size=20, numbers=list(BOTH))


RATES = ("1e-300", "1e-9", "1e300", "'Infinity'", "'NaN'")
ROWS = (
    *(f"manual_limit_per_s = {rate}" for rate in RATES),
    "service_limit_per_s = 1e-300",
    "epoch = 9223372036854775807",
    "released = true, leased_until = '-infinity', no_send_before = '-infinity', epoch = 3",
    "released = true, leased_until = 'infinity', epoch = 3",
    "released = true, no_send_before = '9999-12-31', epoch = 3",
    "suspended_until = 'infinity', suspended_reason = 'x'",
    "messaging_limit_tier = 'TIER_99999999999M'",
    "messaging_limit_tier = E'\\u0001 TIER_\\u0663', known_tier = 'no tier'",
    """owner_process = '["odd"]', released = false, leased_until = now() - interval '1 s', epoch = 3""",
    """owner_process = '{"pid": "odd"}', released = false, leased_until = now() - interval '1 s', epoch = 3""",
)


@pytest.mark.parametrize("change", ROWS)
@pytest.mark.parametrize("alone", [False, True], ids=["worker", "run"])
async def test_no_row_of_a_number_keeps_the_others_from_sending(
    pool: Pool, elsewhere: Connection, change: str, alone: bool
) -> None:
    campaign = await plant_both(elsewhere)
    await poison(elsewhere, FAST, change)
    async with serving(**BOTH) as emulator:
        async with started(pool, emulator, campaign if alone else None, numbers=list(BOTH)) as runner:

            async def has_ended() -> bool:
                assert alone or not runner.task.done(), "no worker ends"
                return (await campaign_row(elsewhere, campaign.campaign_id))[0] == "finished"

            await until(has_ended)
        assert_each_once(emulator, campaign)


@pytest.mark.parametrize("rate", RATES)
async def test_a_number_whose_limit_cannot_be_kept_to_is_stopped_and_goes_on_after_it_was_mended(
    pool: Pool, elsewhere: Connection, rate: str
) -> None:
    campaign = await plant_both(elsewhere, recipients=200)
    async with serving(**BOTH) as emulator, started(pool, emulator, numbers=list(BOTH)) as runner:
        await until(lambda: len(emulator.service.ledger) == campaign.recipients)
        await poison(elsewhere, FAST, f"manual_limit_per_s = {rate}")
        await until(lambda: is_stopped(elsewhere, FAST))
        other = await plant_campaign(elsewhere, recipients=200, range_size=20, numbers=list(BOTH))
        await until(lambda: len(emulator.service.ledger) == campaign.recipients + other.recipients)
        shown = next(number for number in await list_numbers(pool) if number.phone_number_id == FAST)
        assert "a limit is 0.01 to 100,000 messages per second" in state_text(shown)
        told = "SELECT subject FROM notifications WHERE event = 'number_stopped'"
        assert [row["subject"] for row in await elsewhere.fetch(told)] == [f"number {FAST}"]

        await resume_number(pool, FAST, actor="ann")
        await until(lambda: is_stopped(elsewhere, FAST))  # it is not mended
        await elsewhere.execute(GOOD_ROW, FAST)
        await resume_number(pool, FAST, actor="ann")
        alone = await plant_campaign(elsewhere, recipients=50, numbers=[FAST])
        await until(lambda: set(alone.phones) <= set(accepted_phones(emulator)))
        assert not runner.task.done()
        await runner.drained()
        assert_each_once(emulator, campaign, other, alone)


async def test_a_run_takes_a_number_back_that_was_mended(pool: Pool, elsewhere: Connection) -> None:
    await plant_numbers(elsewhere, **{SLOW: 20.0, FAST: HIGH_RATE_PER_S})
    campaign = await plant_campaign(elsewhere, recipients=400, range_size=20, numbers=list(BOTH))
    await poison(elsewhere, FAST, "manual_limit_per_s = 'NaN'")
    async with serving(**BOTH) as emulator, started(pool, emulator, campaign, numbers=list(BOTH)) as runner:
        await until(lambda: is_stopped(elsewhere, FAST))
        await elsewhere.execute(GOOD_ROW, FAST)
        await resume_number(pool, FAST, actor="ann")
        assert (await runner.end()).state == "finished"  # by SLOW alone it would take 20 s
        assert_each_once(emulator, campaign)
        assert (
            await elsewhere.fetchval("SELECT count(*) FROM outcomes WHERE phone_number_id = $1", FAST) > 100
        )


async def test_a_run_whose_numbers_all_fail_is_paused_and_says_why(pool: Pool, elsewhere: Connection) -> None:
    await plant_numbers(elsewhere, **{SLOW: 80})
    campaign = await plant_campaign(elsewhere)
    await poison(elsewhere, SLOW, "service_limit_per_s = 1e-300")
    async with serving() as emulator:
        ended = await run_to_end(pool, emulator, campaign)
    assert ended.state == "paused"
    assert "every number is stopped" in ended.reason and "not 1e-300" in ended.reason


def _fail_once_for(number: str, original: Callable[..., Any], number_of: Callable[[Any], str]) -> Any:
    """A method that fails whenever it is called for the number, until `armed` is cleared."""
    armed = asyncio.Event()
    armed.set()

    def failing(self: Any, *arguments: Any, **others: Any) -> Any:
        if armed.is_set() and number_of(self) == number:
            raise ZeroDivisionError("injected")
        return original(self, *arguments, **others)

    return failing, armed


LOOPS = {
    "claims": (Feeder, "feed", lambda feeder: feeder._lease.phone_number_id),
    "pace": (NumberPace, "regulate", lambda pace: pace._phone_number_id),
}


@pytest.mark.parametrize("loop", LOOPS)
async def test_a_failure_in_the_loop_of_one_number_stops_only_that_number(
    pool: Pool, elsewhere: Connection, monkeypatch: pytest.MonkeyPatch, loop: str
) -> None:
    owner, name, number_of = LOOPS[loop]
    failing, armed = _fail_once_for(FAST, getattr(owner, name), number_of)
    monkeypatch.setattr(owner, name, failing)
    campaign = await plant_both(elsewhere)
    async with serving(**BOTH) as emulator, started(pool, emulator, numbers=list(BOTH)) as runner:
        await until(lambda: len(emulator.service.ledger) == campaign.recipients)
        await until(lambda: is_stopped(elsewhere, FAST))
        row = await elsewhere.fetchval(
            "SELECT suspended_reason FROM numbers WHERE phone_number_id = $1", FAST
        )
        assert "injected" in row
        armed.clear()
        await resume_number(pool, FAST, actor="ann")
        alone = await plant_campaign(elsewhere, recipients=50, numbers=[FAST])
        await until(lambda: set(alone.phones) <= set(accepted_phones(emulator)))
        await runner.drained()
        assert_each_once(emulator, campaign, alone)


@pytest.mark.parametrize(
    ("part", "name"), [(TokenBucket, "available"), (TokenBucket, "take"), (RateGovernor, "rate_per_s")]
)
async def test_arithmetic_that_fails_while_messages_are_claimed_leaves_nobody_out_and_nobody_twice(
    pool: Pool, elsewhere: Connection, monkeypatch: pytest.MonkeyPatch, part: type, name: str
) -> None:
    """What the number had claimed is given back, sent by the other, or in doubt."""
    original, broken = getattr(part, name), asyncio.Event()

    def failing(self: Any, *arguments: Any) -> Any:
        mine = self.limit_per_s if isinstance(self, TokenBucket) else self._limit_per_s
        if broken.is_set() and mine == 500:
            raise OverflowError("injected")
        return original(self, *arguments)

    monkeypatch.setattr(part, name, failing)
    await plant_numbers(elsewhere, **{SLOW: 300.0, FAST: 500.0})
    campaign = await plant_campaign(elsewhere, recipients=900, range_size=50, numbers=list(BOTH))
    async with serving(**BOTH) as emulator, started(pool, emulator, numbers=list(BOTH)) as runner:
        await until(lambda: len(emulator.service.ledger) >= 100)
        broken.set()
        await until(lambda: is_stopped(elsewhere, FAST))

        async def has_ended() -> bool:
            assert not runner.task.done()
            return (await campaign_row(elsewhere, campaign.campaign_id))[0] == "finished"

        await until(has_ended)
        assert max(accepted_phones(emulator).values()) == 1
        sent = len(emulator.service.ledger)
    unknown = {"unknown": len(campaign.phones) - sent} if sent < len(campaign.phones) else {}
    await assert_counts(pool, campaign, accepted=sent, **unknown)


CAMPAIGN_ROWS = (
    "time_zone = 'Europe', window_opens = '00:00', window_closes = '23:59'",
    "time_zone = 'Nowhere/Land', window_opens = '00:00', window_closes = '23:59'",
    "time_zone = ''",
    "template = '{}'",
    "template = '[1]'",
    """template = '{"name": "x", "language": "de", "definition": {"components": 7}}'""",
    "days = '{9}'",
    "time_zone = 'recipient', quiet_from = '22:00', quiet_until = '07:00', recipient_zones = '{Europe}'",
    "pause_at_failed = 'many'",
    "pause_at_failed = 'nan'",
    "cap_messages = 1, cap_period_s = -9223372036854775808",
)


@pytest.mark.parametrize("late", [False, True], ids=["before", "meanwhile"])
@pytest.mark.parametrize("change", CAMPAIGN_ROWS)
async def test_a_campaign_that_cannot_be_read_is_paused_and_the_others_go_on(
    pool: Pool, elsewhere: Connection, change: str, late: bool
) -> None:
    await plant_numbers(elsewhere, **{SLOW: 400.0})
    bad = await plant_campaign(elsewhere, recipients=2_000, range_size=50)
    spoil = f"UPDATE campaigns SET {change} WHERE campaign_id = {bad.campaign_id}"
    try:
        if not late:
            await elsewhere.execute(spoil)
        async with serving() as emulator, started(pool, emulator) as runner:
            if late:
                await until(lambda: len(emulator.service.ledger) >= 20)
                await elsewhere.execute(spoil)
            good = await plant_campaign(elsewhere, recipients=100, range_size=50, priority="high")

            async def has_ended() -> bool:
                assert not runner.task.done(), "no worker ends"
                return (await campaign_row(elsewhere, good.campaign_id))[0] == "finished"

            await until(has_ended)
            assert max(accepted_phones(emulator).values()) == 1
            assert not await elsewhere.fetchval("SELECT bool_or(stopped) FROM numbers"), (
                "no number is at fault"
            )
    except Exception as error:  # what the types or checks of the table refuse needs no test
        if "violates check" not in str(error) and "out of range" not in str(error):
            raise


async def test_an_expiry_at_infinity_is_none(pool: Pool, elsewhere: Connection) -> None:
    await plant_numbers(elsewhere, **{SLOW: HIGH_RATE_PER_S})
    campaign = await plant_campaign(elsewhere, recipients=50)
    await elsewhere.execute("UPDATE campaigns SET expires_at = 'infinity'")
    async with serving() as emulator:
        assert (await run_to_end(pool, emulator, campaign)).state == "finished"
        assert_each_once(emulator, campaign)


async def test_a_range_whose_zone_does_not_exist_pauses_its_campaign_which_goes_on_once_it_is_mended(
    pool: Pool, elsewhere: Connection
) -> None:
    await plant_numbers(elsewhere, **{SLOW: HIGH_RATE_PER_S})
    bad = await plant_campaign(elsewhere, recipients=100, range_size=50)
    await elsewhere.execute(
        "UPDATE campaigns SET time_zone = 'recipient', quiet_from = '00:00', quiet_until = '00:01',"
        " recipient_zones = '{Etc/GMT+12}'"
    )
    await elsewhere.execute("UPDATE ranges SET time_zones = 'Nowhere/Land'")
    async with serving() as emulator, started(pool, emulator) as runner:

        async def is_paused() -> bool:
            assert not runner.task.done(), "no worker ends"
            return (await campaign_row(elsewhere, bad.campaign_id))[0] == "paused"

        await until(is_paused)
        assert "Nowhere" in (await campaign_row(elsewhere, bad.campaign_id))[1]
        good = await plant_campaign(elsewhere, recipients=100)
        await until(lambda: len(emulator.service.ledger) == good.recipients)
        await elsewhere.execute("UPDATE ranges SET time_zones = NULL, due_at = '-infinity'")
        await elsewhere.execute(
            "UPDATE campaigns SET state = 'running' WHERE campaign_id = $1", bad.campaign_id
        )
        await until(lambda: set(bad.phones) <= set(accepted_phones(emulator)))
        assert not await is_stopped(elsewhere, SLOW)
        assert_each_once(emulator, good, bad)


async def test_a_message_that_cannot_be_made_pauses_its_campaign_and_leaves_nobody_out(
    pool: Pool, elsewhere: Connection
) -> None:
    await plant_numbers(elsewhere, **{SLOW: 200.0})
    bad = await plant_campaign(elsewhere, recipients=60, range_size=20)
    await elsewhere.execute(
        "UPDATE recipients SET template_index = 7 WHERE range_id = $1 AND seq = 5", bad.range_ids[1]
    )
    async with serving() as emulator, started(pool, emulator) as runner:

        async def is_paused() -> bool:
            assert not runner.task.done(), "no worker ends"
            return (await campaign_row(elsewhere, bad.campaign_id))[0] == "paused"

        await until(is_paused)
        assert not await is_stopped(elsewhere, SLOW)
        await elsewhere.execute("UPDATE recipients SET template_index = 0")
        await elsewhere.execute(
            "UPDATE campaigns SET state = 'running' WHERE campaign_id = $1", bad.campaign_id
        )
        await until(lambda: len(emulator.service.ledger) == bad.recipients)
        assert_each_once(emulator, bad)
