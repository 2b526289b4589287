"""The wall clock steps or is wrong: pace, expiry, quiet hours and stored times follow the database's clock."""

import time
from datetime import UTC, datetime, timedelta, tzinfo

import pytest

from drumbeat.engine import clock
from drumbeat.engine.sending import campaign_reader, guarding
from drumbeat.engine.store.database import Pool
from tests.sending.planted import SLOW, plant_campaign, plant_numbers
from tests.sending.running import (
    assert_counts,
    assert_each_once,
    longest_pause_ns,
    received_ns,
    serving,
    shortest_span_us,
    started,
    until,
)

LIMIT_PER_S = 200
RECIPIENTS = 900
STEP_S = 3_600.0
STEP = timedelta(seconds=STEP_S)


class Wall:
    """The wall clock of the sending process, which the test can set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.step_s = 0.0
        wall, real_s, real_ns = self, time.time, time.time_ns

        class Stepped(datetime):
            @classmethod
            def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
                return datetime.now(tz) + timedelta(seconds=wall.step_s)

        monkeypatch.setattr(time, "time", lambda: real_s() + wall.step_s)
        monkeypatch.setattr(time, "time_ns", lambda: real_ns() + int(wall.step_s * 1e9))
        monkeypatch.setattr(campaign_reader, "time_ns", lambda: real_ns() + int(wall.step_s * 1e9))
        for module in (guarding, campaign_reader):
            monkeypatch.setattr(module, "datetime", Stepped, raising=False)  # whichever asks the wall


@pytest.mark.parametrize("step_s", [STEP_S, -STEP_S])
async def test_a_step_changes_no_pace(pool: Pool, monkeypatch: pytest.MonkeyPatch, step_s: float) -> None:
    wall = Wall(monkeypatch)
    async with pool.acquire() as connection:
        await plant_numbers(connection, **{SLOW: LIMIT_PER_S})
        expires_at = datetime.now(UTC) + timedelta(seconds=2 * STEP_S)
        campaign = await plant_campaign(connection, recipients=RECIPIENTS, expires_at=expires_at)
    async with serving() as emulator:
        async with started(pool, emulator, campaign) as runner:
            for claimed_through in (100, 300, 500):  # there, back, and there again
                await until(
                    lambda claimed_through=claimed_through: len(emulator.service.ledger) >= claimed_through
                )  # type: ignore[misc]
                wall.step_s = 0.0 if wall.step_s else step_s
            assert (await runner.end()).state == "finished", "it waits for no clock"
        assert_each_once(emulator, campaign)
        times = received_ns(emulator, SLOW)
        assert longest_pause_ns(times) < STEP_S * 1e9 / 100
        # As received: the way there compresses gaps a little. A pace by the wall clock would have none at all.
        assert shortest_span_us(times, LIMIT_PER_S) > 0.8e9
    await assert_counts(pool, campaign, accepted=RECIPIENTS)


async def test_a_clock_that_runs_ahead_expires_nobody(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Elsewhere it would say the same of a process whose clock was never right."""
    wall = Wall(monkeypatch)
    async with pool.acquire() as connection:
        await plant_numbers(connection, **{SLOW: LIMIT_PER_S})
        expires_at = datetime.now(UTC) + timedelta(seconds=STEP_S)
        campaign = await plant_campaign(connection, recipients=RECIPIENTS, expires_at=expires_at)
    wall.step_s = 2 * STEP_S
    async with serving() as emulator, started(pool, emulator, campaign) as runner:
        assert (await runner.end()).state == "finished"
        assert_each_once(emulator, campaign)
    await assert_counts(pool, campaign, accepted=RECIPIENTS)


async def test_a_clock_that_is_wrong_changes_no_hours_and_no_stored_time(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The window is open by the database's clock and closed by ours. All attempts were written just now."""
    wall = Wall(monkeypatch)
    now = datetime.now(UTC)
    window = ((now - STEP / 2).time(), (now + STEP / 2).time())
    async with pool.acquire() as connection:
        await plant_numbers(connection, **{SLOW: LIMIT_PER_S})
        campaign = await plant_campaign(connection, recipients=20, window=window)
    wall.step_s = STEP_S
    async with serving() as emulator, started(pool, emulator, campaign) as runner:
        assert (await runner.end()).state == "finished"
    async with pool.acquire() as connection:
        off_s = await connection.fetchrow(
            "SELECT max(abs(extract(epoch FROM now() - attempted_at)))::float8 AS of_outcomes,"
            " (SELECT max(abs(extract(epoch FROM now() - last_attempt_at)))::float8 FROM campaign_numbers)"
            " AS of_numbers FROM outcomes"
        )
    assert off_s is not None and max(off_s) < STEP_S / 2


def test_an_interruption_between_two_clocks_moves_no_stored_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first of three readings is interrupted for 10 ms; the wall clock is 1,000 ns ahead."""
    monotonic_ns = iter((0, 10_000_000, 10_000_100, 10_000_200, 10_000_300, 10_000_400))
    wall_ns = iter((1_000, 10_001_150, 10_001_350))
    with monkeypatch.context() as patched:
        patched.setattr(clock, "monotonic_ns", lambda: next(monotonic_ns))
        patched.setattr(time, "time_ns", lambda: next(wall_ns))
        assert clock.wall_offset_ns() == 1_000
