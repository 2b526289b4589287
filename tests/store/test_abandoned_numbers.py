"""Numbers whose owners are gone: their claims are put in doubt, and their ranges and leases are released."""

import pytest

from drumbeat.engine.process.identity import ProcessIdentity, this_process
from drumbeat.engine.store import abandoned_numbers, ranges
from drumbeat.engine.store.abandoned_numbers import recover_abandoned_numbers
from drumbeat.engine.store.claims import advance_watermark
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.leases import NumberHeld, take_lease
from drumbeat.engine.store.ranges import take_range
from tests.sending.planted import (
    FAST,
    SLOW,
    Planted,
    another_process,
    assert_range_counters_hold,
    counts,
    plant_campaign,
    plant_numbers,
)

ELSEWHERE = ProcessIdentity("far.example", "another boot", 1, 77, 1)  # nobody can prove its death


async def left_by(connection: Connection, owner: ProcessIdentity, number: str = SLOW) -> Planted:
    """A campaign whose range an owner took and claimed two of four recipients from; none has an outcome."""
    await plant_numbers(connection, **{number: 80})
    campaign = await plant_campaign(connection, recipients=4, numbers=(number,))
    lease = await take_lease(connection, number, owner)
    held = await take_range(connection, lease, campaign.campaign_id)
    assert held is not None
    await advance_watermark(connection, lease, held, 2, [])
    return campaign


async def expire_lease(connection: Connection, seconds: float) -> None:
    await connection.execute("UPDATE numbers SET leased_until = now() - make_interval(secs => $1)", seconds)


async def test_the_claims_of_a_dead_owner_are_put_in_doubt_and_its_ranges_released(
    connection: Connection,
) -> None:
    campaign = await left_by(connection, another_process())
    assert await recover_abandoned_numbers(connection, this_process()) == [SLOW]
    assert await counts(connection, campaign.campaign_id) == {"unknown": 2, "pending": 2}
    await assert_range_counters_hold(connection)
    assert await connection.fetchval("SELECT phone_number_id FROM ranges") is None
    await take_lease(connection, SLOW, ELSEWHERE)  # nobody holds the number
    assert await recover_abandoned_numbers(connection, this_process()) == [], "it holds no range"


async def test_an_owner_that_may_only_be_slow_is_left_to_senders_of_its_number(
    connection: Connection,
) -> None:
    campaign = await left_by(connection, ELSEWHERE)
    assert await recover_abandoned_numbers(connection, this_process()) == [], "its lease runs"
    await expire_lease(connection, 30)
    assert await recover_abandoned_numbers(connection, this_process()) == []
    assert await counts(connection, campaign.campaign_id) == {"pending": 4}
    await expire_lease(connection, 90)
    assert await recover_abandoned_numbers(connection, this_process()) == [SLOW]
    assert await counts(connection, campaign.campaign_id) == {"unknown": 2, "pending": 2}
    assert (await take_lease(connection, SLOW, this_process())).wait_s > 2.0, (
        "its permits may still be used for so long"
    )


async def test_an_owner_that_ends_before_it_fenced_its_ranges_leaves_the_full_wait(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The former owner may claim until its ranges are fenced, so the wait for its permits starts at the fence."""
    await left_by(connection, ELSEWHERE)
    await expire_lease(connection, 90)

    async def end(*_: object) -> None:
        raise ConnectionResetError

    monkeypatch.setattr(ranges, "_fence", end)
    with pytest.raises(ConnectionResetError):
        await recover_abandoned_numbers(connection, this_process())
    assert await connection.fetchval("SELECT no_send_before = 'infinity' FROM numbers")


async def test_a_released_number_with_a_claim_without_an_outcome_is_recovered(
    connection: Connection,
) -> None:
    """A drain whose statement hung leaves such a number, and perhaps no process takes it again."""
    campaign = await left_by(connection, ELSEWHERE)
    await connection.execute("UPDATE numbers SET released = true")
    assert await recover_abandoned_numbers(connection, this_process()) == [SLOW]
    assert await counts(connection, campaign.campaign_id) == {"unknown": 2, "pending": 2}


async def test_numbers_of_the_caller_are_left_alone(connection: Connection) -> None:
    await left_by(connection, another_process())
    await left_by(connection, another_process(), FAST)
    assert await recover_abandoned_numbers(connection, this_process(), [SLOW]) == [FAST]
    assert await connection.fetchval("SELECT phone_number_id FROM ranges WHERE phone_number_id <> ''") == SLOW


async def test_an_owner_that_returns_meanwhile_keeps_its_number_and_blocks_no_other(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    await left_by(connection, ELSEWHERE)
    await left_by(connection, another_process(), FAST)
    monkeypatch.setattr(
        abandoned_numbers, "is_proven_dead", lambda _: True
    )  # as when the owner was looked up
    assert await recover_abandoned_numbers(connection, this_process()) == [FAST]
    with pytest.raises(NumberHeld):
        await take_lease(connection, SLOW, this_process())
