"""`campaign test-send`: the message to one's own phones, recorded, and apart from the campaign."""

from pathlib import Path

import pytest

from tests.cli.conftest import CREATE
from tests.cli.processes import Drumbeat, Service

ME, ANA = "+14155550101", "+5511980000000"
TEST = ("campaign", "test-send", "spring")


@pytest.fixture
def spring(drumbeat: Drumbeat, synced: Service, audience: Path) -> Drumbeat:
    """A campaign of ten people that may not start for a long time."""
    params = ("--param", "name", "--param", "order", "--start-at", "2099-01-01T00:00Z")
    drumbeat.ok(*CREATE, "--audience", audience, *params)
    return drumbeat


def test_own_phones_get_the_values_of_a_row_at_once(spring: Drumbeat, synced: Service) -> None:
    tests = spring.ok(*TEST, "--to", ME, "--to", ANA, "--to", ME, "--row", "4", "--json").json["tests"]
    assert [(test["name"], test["phone"], test["state"]) for test in tests] == [
        ("spring/test-1", ME[1:], "accepted"),
        ("spring/test-2", ANA[1:], "accepted"),
    ]
    assert [message["phone_number_id"] for message in synced.ledger()] == ["2", "2"]
    values = spring.ok("campaign", "preview", "spring/test-1", "--json").json["message"]["body"]
    assert (
        values == spring.ok("campaign", "preview", "spring", "--row", "4", "--json").json["message"]["body"]
    )


def test_each_call_sends_again_and_the_campaign_does_not_change(spring: Drumbeat, synced: Service) -> None:
    before = spring.ok("campaign", "report", "spring", "--json").json
    for name in ("spring/test-1", "spring/test-2"):
        assert name in spring.ok(*TEST, "--to", ANA).stdout
    assert synced.accepted() == 2
    assert spring.ok("campaign", "report", "spring", "--json").json == before
    assert spring.ok("campaign", "report", "spring/test-2", "--json").json["recipients"] == 1


def test_the_list_shows_tests_only_if_asked(spring: Drumbeat) -> None:
    spring.ok(*TEST, "--to", ME)
    listed = spring.ok("campaign", "list", "--json").json["campaigns"]
    assert [(each["name"], each["test_of"]) for each in listed] == [("spring", None)]
    every = spring.ok("campaign", "list", "--tests", "--json").json["campaigns"]
    assert [(each["name"], each["test_of"]) for each in every] == [
        ("spring/test-1", "spring"),
        ("spring", None),
    ]


def test_a_suppressed_phone_gets_nothing(spring: Drumbeat, synced: Service) -> None:
    spring.ok("suppress", "add", ME)
    done = spring(*TEST, "--to", ME, "--json")
    assert (done.exit_code, done.json["tests"][0]["state"]) == (3, "skipped")
    assert synced.accepted() == 0


REFUSALS: list[tuple[tuple[str, ...], int, str]] = [
    (("--to", "12"), 2, "too few digits"),
    (("--to", ME, "--row", "1"), 78, "row 1"),
    (
        tuple(word for last in range(100, 121) for word in ("--to", f"+14155550{last}")),
        2,
        "20 phones at most",
    ),
]


def test_what_cannot_be_tested_is_refused_and_nothing_is_recorded(spring: Drumbeat, synced: Service) -> None:
    for words, exit_code, part in REFUSALS:
        done = spring(*TEST, *words)
        assert (done.exit_code, done.stdout) == (exit_code, ""), words
        assert part in done.complaint
    assert len(spring.ok("campaign", "list", "--tests", "--json").json["campaigns"]) == 1
    assert synced.accepted() == 0
