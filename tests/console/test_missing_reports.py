"""A receiver that is down: the page says since when reports are missing, and no longer than they are."""

import pytest

from drumbeat.engine.store.database import Pool
from tests.console.conftest import NUMBER, OTHER_NUMBER, Caller

MISSING = "One message awaits its report since"


async def accept(pool: Pool, age_s: int) -> None:
    """One more message was accepted so long ago."""
    await pool.execute(
        "INSERT INTO outcomes (range_id, seq, attempt_no, epoch, kind, status, phone_number_id, wamid, attempted_at)"
        " SELECT range_id, 4, 1, 1, 1, 1, $1, 'wamid.4', now() - make_interval(secs => $2) FROM ranges WHERE ordinal = 0",
        NUMBER,
        age_s,
    )
    await pool.execute("UPDATE range_counters SET accepted = 1 WHERE read = 1")


async def report(pool: Pool, number: str, age_s: int) -> None:
    """The latest event of the number came so long ago."""
    await pool.execute(
        "INSERT INTO event_flow (phone_number_id, last_event_at) VALUES ($1, now() - make_interval(secs => $2))",
        number,
        age_s,
    )


@pytest.mark.parametrize(
    ("accepted_s", "event_s", "missing"),
    [
        (600, None, True),
        (600, 900, True),  # the receiver went away
        (60, None, False),  # it is too early to say
        (60, 90_000, False),  # the campaign waited since yesterday
        (600, 10, False),  # others are reported on: this phone is off
        (900, 600, False),  # the same, and nothing was sent since
    ],
)
async def test_messages_whose_reports_do_not_come_are_named(
    pool: Pool, manager: Caller, accepted_s: int, event_s: int | None, missing: bool
) -> None:
    await accept(pool, accepted_s)
    if event_s is not None:
        await report(pool, NUMBER, event_s)
        await report(pool, OTHER_NUMBER, event_s + 5)
    page = await manager.get("/campaigns/spring")
    assert (page.status, MISSING in page.text) == (200, missing)
