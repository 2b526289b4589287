"""How long a campaign takes, and what each number sends of it."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from drumbeat.engine.core.forecast import NumberLimits, first_send, last_send, sending_s, shares
from drumbeat.engine.core.limits.daily_window import DailyWindow
from drumbeat.engine.core.limits.quota import QuotaScope
from drumbeat.engine.core.limits.sending_hours import SendingHours

NINE_TO_EIGHT, NIGHT = DailyWindow(9 * 60, 20 * 60), DailyWindow(22 * 60, 6 * 60)
BERLIN = ZoneInfo("Europe/Berlin")
HOUR_S = 3600.0


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


ENDS: list[tuple[str, str, float, DailyWindow | None, str, str | None]] = [
    ("without a window it goes on", "2026-05-01 10:00", 30 * HOUR_S, None, "UTC", "2026-05-02 16:00"),
    ("it ends in the window", "2026-05-01 10:00", HOUR_S, NINE_TO_EIGHT, "UTC", "2026-05-01 11:00"),
    ("it waits for the opening", "2026-05-01 03:00", HOUR_S, NINE_TO_EIGHT, "UTC", "2026-05-01 10:00"),
    ("the rest waits for the next day", "2026-05-01 19:00", 3 * HOUR_S, NINE_TO_EIGHT, "UTC", "2026-05-02 11:00"),
    ("a whole window ends as it closes", "2026-05-01 09:00", 11 * HOUR_S, NINE_TO_EIGHT, "UTC", "2026-05-01 20:00"),
    ("a window passes midnight", "2026-05-01 12:00", 9 * HOUR_S, NIGHT, "UTC", "2026-05-02 23:00"),
    ("the window is local", "2026-05-01 03:00", HOUR_S, NINE_TO_EIGHT, "Europe/Berlin", "2026-05-01 08:00"),
    (
        "a night without an hour holds an hour less",
        "2026-03-28 21:00", 8 * HOUR_S, NIGHT, "Europe/Berlin", "2026-03-29 21:00",
    ),
    ("nobody takes no time", "2026-05-01 10:00", 0.0, None, "UTC", "2026-05-01 10:00"),
    ("more than ten years have no end", "2026-05-01 10:00", 4e8, None, "UTC", None),
    ("nor behind a window", "2026-05-01 10:00", 3e8, NINE_TO_EIGHT, "UTC", None),
]  # fmt: skip


@pytest.mark.parametrize(
    ("about", "start", "seconds", "window", "zone", "end"), ENDS, ids=[row[0] for row in ENDS]
)
def test_when_it_ends(
    about: str, start: str, seconds: float, window: DailyWindow | None, zone: str, end: str | None
) -> None:
    hours = SendingHours(() if window is None else (window,))
    found = last_send(at(start), seconds, hours, [ZoneInfo(zone)])
    assert found == (None if end is None else at(end))


def test_a_campaign_that_pauses_on_sundays() -> None:
    hours = SendingHours((NINE_TO_EIGHT,), frozenset(range(6)))
    assert last_send(at("2026-05-02 19:00"), 2 * HOUR_S, hours, [ZoneInfo("UTC")]) == at("2026-05-04 10:00")


def test_the_first_send() -> None:
    assert first_send(at("2026-05-01 03:00"), SendingHours(), [BERLIN]) == at("2026-05-01 03:00")
    assert first_send(at("2026-05-01 03:00"), SendingHours((NINE_TO_EIGHT,)), [BERLIN]) == at(
        "2026-05-01 07:00"
    )


SHARES: list[tuple[str, int, list[tuple[float, str | None]], list[tuple[int, bool | None, int]]]] = [
    ("by the limits", 1000, [(80, "TIER_1K"), (20, "TIER_1K")], [(800, True, 1), (200, True, 1)]),
    ("thirds add up", 100, [(1, None)] * 3, [(33, None, 1), (34, None, 1), (33, None, 1)]),
    ("one person too many takes a day more", 251, [(80, "TIER_250")], [(251, False, 2)]),
    ("the limit itself is allowed", 250, [(80, "TIER_250")], [(250, True, 1)]),
    ("many days", 1_000_000, [(80, "TIER_100K")], [(1_000_000, False, 10)]),
    ("no limit", 1_000_000, [(80, "TIER_UNLIMITED")], [(1_000_000, True, 1)]),
    ("any number of thousands", 4_000, [(80, "TIER_2K")], [(4_000, False, 2)]),
    ("an unknown word is the lowest limit", 1_000, [(80, "TIER_NEW")], [(1_000, False, 4)]),
    ("no word says nothing", 1_000_000, [(80, None)], [(1_000_000, None, 1)]),
    (
        "what one may not take goes to the other",
        1_200,
        [(80, "TIER_250"), (20, "TIER_1K")],
        [(250, True, 1), (950, True, 1)],
    ),
    (
        "days of all together",
        30_000,
        [(80, "TIER_1K"), (80, "TIER_10K")],
        [(3_000, False, 3), (27_000, False, 3)],
    ),
    (
        "no limit takes the rest",
        9_000,
        [(80, "TIER_250"), (20, "TIER_UNLIMITED")],
        [(250, True, 1), (8_750, True, 1)],
    ),
    ("nobody", 0, [(80, "TIER_250"), (20, None)], [(0, True, 1), (0, None, 1)]),
]


@pytest.mark.parametrize(("about", "recipients", "numbers", "found"), SHARES, ids=[row[0] for row in SHARES])
def test_what_each_number_sends(
    about: str,
    recipients: int,
    numbers: list[tuple[float, str | None]],
    found: list[tuple[int, bool | None, int]],
) -> None:
    limits = [NumberLimits(str(at), per_s, tier) for at, (per_s, tier) in enumerate(numbers)]
    assert [(each.recipients, each.allowed, each.days) for each in shares(recipients, limits)] == found


def test_numbers_that_share_a_limit_take_the_days_of_it() -> None:
    numbers = [NumberLimits("1", 80, "TIER_1K"), NumberLimits("2", 20, "TIER_1K")]
    found = shares(2_500, numbers, QuotaScope.ACCOUNT)
    assert [(each.recipients, each.days, each.people_per_day) for each in found] == [
        (2_000, 3, 1_000),
        (500, 3, 1_000),
    ]


def test_numbers_send_together() -> None:
    numbers = [NumberLimits("1", 80, None), NumberLimits("2", 20, None)]
    assert timedelta(seconds=sending_s(1000, numbers)) == timedelta(seconds=10)
