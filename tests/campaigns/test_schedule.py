"""Times, windows, zones and the bound of failures, as the command line gives them."""

from datetime import UTC, datetime, time

import pytest

from drumbeat.campaigns.options.schedule import (
    Schedule,
    check_max_failed,
    read_moment,
    read_schedule,
    read_time_zone,
    read_window,
)
from drumbeat.engine.errors import UsageError


@pytest.mark.parametrize("text", ["2026-03-01T09:00:00-03:00", "2026-03-01T12:00Z", "2026-03-01 12:00+00:00"])
def test_a_time_with_an_offset_is_one_moment(text: str) -> None:
    assert read_moment("start_at", text) == datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "text", ["2026-03-01T09:00:00", "tomorrow", "", "2026-13-01T00:00Z", "0001-01-01T00:00+14:00"]
)
def test_a_time_without_an_offset_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="start_at"):
        read_moment("start_at", text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("09:00-20:00", (time(9), time(20))),
        ("20:30-02:15", (time(20, 30), time(2, 15))),
        ("09:00-24:00", (time(9), time(0))),
    ],
)
def test_windows(text: str, expected: tuple[time, time]) -> None:
    assert read_window(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "9-20",
        "09:00",
        "09:00-20:00:30",
        "09:00-25:00",
        "09:60-10:00",
        "09:00-24:30",
        "09:00-09:00",
        "00:00-24:00",
        "48:00-01:00",
        "",
    ],
)
def test_windows_that_cannot_be(text: str) -> None:
    with pytest.raises(UsageError, match="window"):
        read_window(text)


@pytest.mark.parametrize("name", ["Mars/Olympus", "", "../etc/passwd", "America"])
def test_unknown_time_zones(name: str) -> None:
    with pytest.raises(UsageError, match="time zone"):
        read_time_zone(name)


@pytest.mark.parametrize("end", ["2026-03-01T10:00+02:00", "2026-03-01T11:00+02:00"])
def test_an_end_that_is_not_after_the_start_is_refused(end: str) -> None:
    with pytest.raises(UsageError, match="not after"):
        read_schedule("2026-03-01T09:00Z", end, None, "UTC")


def test_each_given_time_is_kept_under_its_option() -> None:
    schedule = read_schedule("2026-03-01T09:00Z", "2026-03-01T12:00Z", "20:30-02:15", "America/Sao_Paulo")
    assert schedule == Schedule(
        datetime(2026, 3, 1, 9, tzinfo=UTC), datetime(2026, 3, 1, 12, tzinfo=UTC), time(20, 30), time(2, 15),
        "America/Sao_Paulo",
    )  # fmt: skip


def test_the_error_of_an_unreadable_time_names_its_option() -> None:
    with pytest.raises(UsageError, match="expires_at 'soon'"):
        read_schedule("2026-03-01T09:00Z", "soon", None, "UTC")


def test_nothing_given_is_no_bound() -> None:
    schedule = read_schedule(None, None, None, "America/Sao_Paulo")

    assert (schedule.start_at, schedule.window_opens, schedule.time_zone) == (None, None, "America/Sao_Paulo")


@pytest.mark.parametrize("text", ["0", "100", "2.5%", "100%"])
def test_bounds_of_failures(text: str) -> None:
    check_max_failed(text)


@pytest.mark.parametrize("text", ["-1", "101%", "many", "1.5", "", "%"])
def test_bounds_of_failures_that_cannot_be(text: str) -> None:
    with pytest.raises(UsageError, match="max_failed"):
        check_max_failed(text)
