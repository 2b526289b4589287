"""Ranges wait for the hours of their time zones: on a clock that the test moves, and in a whole run."""

from datetime import UTC, datetime, time, timedelta

import pytest

from drumbeat.campaigns.results.status import campaign_status
from drumbeat.engine.core.limits.daily_window import DailyWindow
from drumbeat.engine.core.limits.sending_hours import SendingHours
from drumbeat.engine.sending import campaign_reader
from drumbeat.engine.sending.recipient_hours import AHEAD, RecipientHours
from drumbeat.engine.store.database import Connection, Pool
from tests.sending.planted import campaign_row, counts, plant_campaign, planted
from tests.sending.running import HIGH_RATE_PER_S, accepted_phones, run_to_end, serving, started, until

DAY = SendingHours((DailyWindow.between(time(9), time(20)),))
SECOND = timedelta(seconds=1)


class Clock:
    def __init__(self, now: str) -> None:
        self.now = datetime.fromisoformat(now)

    def __call__(self) -> datetime:
        return self.now


def hours(clock: Clock, *zones: str) -> RecipientHours:
    return RecipientHours(DAY, zones, clock)


@pytest.mark.parametrize(
    ("now", "is_open"),
    [
        ("2026-05-06T06:59:59Z", False),
        ("2026-05-06T07:00:00.5Z", False),  # the clocks may differ by a second
        ("2026-05-06T07:00:01Z", True),
        ("2026-05-06T17:59:55Z", True),
        ("2026-05-06T17:59:57Z", False),  # a claim lives for two seconds, an answer for one
        ("2026-05-06T18:00:00Z", False),
        # the night in which the clocks of Berlin go forward, and the one in which they go back
        ("2026-03-29T06:59:00Z", False),
        ("2026-03-29T07:00:01Z", True),
        ("2026-10-25T07:00:01Z", False),
        ("2026-10-25T08:00:01Z", True),
    ],
)
def test_open_for_the_whole_life_of_a_claim(now: str, is_open: bool) -> None:
    assert (hours(Clock(now)).closed("Europe/Berlin") is None) is is_open


def test_a_closed_range_becomes_due_when_every_clock_agrees_that_it_is_open() -> None:
    clock = Clock("2026-05-06T03:00:00Z")
    closed = hours(clock).closed("Europe/Berlin")
    assert closed is not None and closed.reason == "quiet hours until 09:00 Europe/Berlin"
    clock.now = closed.due_at - SECOND
    assert hours(clock).closed("Europe/Berlin") is None


def test_an_answer_is_not_used_after_its_time() -> None:
    clock = Clock("2026-05-06T17:00:00Z")
    of_berlin = hours(clock)
    while of_berlin.closed("Europe/Berlin") is None:
        assert clock.now + AHEAD <= datetime(2026, 5, 6, 18, tzinfo=UTC) + SECOND
        clock.now += SECOND
    assert datetime(2026, 5, 6, 18, tzinfo=UTC) - clock.now <= AHEAD
    clock.now = datetime(2026, 5, 7, 7, 0, 3, tzinfo=UTC)
    assert of_berlin.closed("Europe/Berlin") is None


def test_a_range_without_zones_is_always_open_and_several_zones_must_all_be() -> None:
    clock = Clock("2026-05-06T10:00:00Z")
    assert hours(clock).closed(None) is None
    closed = hours(clock).closed("America/New_York,Europe/Berlin")
    assert closed is not None and closed.due_at == datetime(2026, 5, 6, 13, 0, 2, tzinfo=UTC)


def test_a_campaign_waits_as_a_whole_for_the_first_zone_to_open() -> None:
    clock = Clock("2026-05-06T20:00:00Z")
    closed = hours(clock, "Europe/Berlin", "Asia/Tokyo").all_closed()
    assert closed is not None and closed.reason == "quiet hours until 09:00 Asia/Tokyo"
    assert hours(clock, "Europe/Berlin", "America/New_York").all_closed() is None
    assert hours(clock).all_closed() is None


def zone_at(hour: int) -> str:
    """A zone in which it is now this hour of the day."""
    offset = (hour - datetime.now(UTC).hour + 11) % 24 - 11
    return f"Etc/GMT{-offset:+d}" if offset else "Etc/GMT"


QUIET_AT_NIGHT = "UPDATE campaigns SET quiet_from = '20:00', quiet_until = '09:00', recipient_zones = $1"


async def test_the_closed_zone_waits_and_the_open_one_is_sent_to(
    pool: Pool, elsewhere: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sixty ranges of a closed zone come before the open ones: they are put off together, once."""
    passed, closed_zone, open_zone = [timedelta(0)], zone_at(0), zone_at(12)
    monkeypatch.setattr(campaign_reader, "database_now", lambda _skew: datetime.now(UTC) + passed[0])
    campaign = await planted(pool, 700, HIGH_RATE_PER_S, range_size=10)
    await elsewhere.execute(QUIET_AT_NIGHT, [closed_zone, open_zone])
    await elsewhere.execute(
        "UPDATE ranges SET time_zones = CASE WHEN ordinal < 60 THEN $1 ELSE $2 END", closed_zone, open_zone
    )
    reason = f"quiet hours until 09:00 {closed_zone}"

    async def is_put_off() -> bool:
        sql = (
            "SELECT count(*) FROM ranges WHERE phone_number_id IS NULL AND due_at > now() AND waits_for = $1"
        )
        return bool(await elsewhere.fetchval(sql, reason) == 60)

    async with serving() as emulator:
        async with started(pool, emulator, campaign) as runner:
            await until(lambda: len(accepted_phones(emulator)) == 100)
            await until(is_put_off)
            [group] = (await campaign_status(pool, campaign.campaign_id)).waits
            assert (group.recipients, group.reason, group.code) == (600, reason, "recipient_hours")
            await runner.drained()
        assert set(accepted_phones(emulator)) == set(campaign.phones[600:])
        assert await counts(elsewhere, campaign.campaign_id) == {"accepted": 100, "pending": 600}
        assert await elsewhere.fetchval("SELECT count(*) FROM pending_attempts") == 0
        passed[0] = timedelta(hours=12)
        await elsewhere.execute("UPDATE ranges SET due_at = now() WHERE state = 'open'")
        await run_to_end(pool, emulator, campaign)
        assert await counts(elsewhere, campaign.campaign_id) == {"accepted": 700}


async def test_the_rest_waits_for_a_canary_that_waits_for_its_hours(
    pool: Pool, elsewhere: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two ranges are the canary: one of a closed zone, one of an open one. The zones of the rest are open."""
    passed, closed_zone, open_zone = [timedelta(0)], zone_at(0), zone_at(12)
    monkeypatch.setattr(campaign_reader, "database_now", lambda _skew: datetime.now(UTC) + passed[0])
    campaign = await planted(pool, 100, HIGH_RATE_PER_S, range_size=10)
    await elsewhere.execute(QUIET_AT_NIGHT, [closed_zone, open_zone])
    await elsewhere.execute(
        "UPDATE ranges SET time_zones = CASE WHEN ordinal = 0 THEN $1 ELSE $2 END", closed_zone, open_zone
    )
    await elsewhere.execute(
        "INSERT INTO canaries (campaign_id, recipients, ranges, max_failed, needs_approval, wait_s)"
        " VALUES ($1, 20, 2, '1', false, 900)",
        campaign.campaign_id,
    )

    async def is_put_off() -> bool:
        return bool(await elsewhere.fetchval("SELECT waits_for IS NOT NULL FROM ranges WHERE ordinal = 0"))

    async with serving() as emulator:
        async with started(pool, emulator, campaign) as runner:
            await until(lambda: len(accepted_phones(emulator)) == 10)
            await until(is_put_off)
            await runner.drained()
        assert set(accepted_phones(emulator)) == set(campaign.phones[10:20])
        passed[0] = timedelta(hours=12)
        await elsewhere.execute("UPDATE ranges SET due_at = now()")
        async with started(pool, emulator, campaign) as runner:
            await until(lambda: len(accepted_phones(emulator)) == 20)
            await runner.drained()
        assert set(accepted_phones(emulator)) == set(campaign.phones[:20])


async def test_a_campaign_whose_zones_are_all_closed_says_so_and_touches_no_range(
    pool: Pool, elsewhere: Connection
) -> None:
    campaign, zone = await planted(pool, 20, HIGH_RATE_PER_S), zone_at(0)
    await elsewhere.execute(QUIET_AT_NIGHT, [zone])
    await elsewhere.execute("UPDATE ranges SET time_zones = $1", zone)

    async def waits() -> bool:
        return (await campaign_row(elsewhere, campaign.campaign_id))[
            1
        ] == f"waiting: quiet hours until 09:00 {zone}"

    async with serving() as emulator, started(pool, emulator, campaign) as runner:
        await until(waits)
        await runner.drained()
        assert not accepted_phones(emulator)
    assert await elsewhere.fetchval("SELECT reason_code FROM campaigns") == "recipient_hours"
    assert await elsewhere.fetchval("SELECT count(*) FROM claims") == 0


async def test_a_capped_campaign_skips_whom_another_one_reached(pool: Pool, elsewhere: Connection) -> None:
    first = await planted(pool, 6, HIGH_RATE_PER_S)
    phones = [*first.phones[:3], *range(first.first_phone + 100, first.first_phone + 104)]
    second = await plant_campaign(elsewhere, recipients=7, phones=phones)
    await elsewhere.execute(
        "UPDATE campaigns SET cap_messages = 1, cap_period_s = 604800 WHERE campaign_id = $1",
        second.campaign_id,
    )
    async with serving() as emulator:
        await run_to_end(pool, emulator, first)
        await run_to_end(pool, emulator, second)
        assert len(accepted_phones(emulator)) == 6 + 4 and max(accepted_phones(emulator).values()) == 1
    assert await counts(elsewhere, second.campaign_id) == {"accepted": 4, "skipped": 3}
    rows = await elsewhere.fetch("SELECT DISTINCT reason FROM outcomes WHERE kind = 3")
    assert [row["reason"] for row in rows] == ["frequency cap: 1 in 7 d"]
