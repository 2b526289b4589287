"""`campaign plan`: who will get the message, by which number and when, at what cost, and who will not."""

from pathlib import Path

import pytest

from tests.cli.processes import Drumbeat, Service

CREATE = ("campaign", "create", "spring", "--template", "order_shipped", "--language", "en_US")
PLAN = ("campaign", "plan", "spring")
HEADER = "country,category,price,currency,date\n"


@pytest.fixture
def spring(drumbeat: Drumbeat, synced: Service, tmp_path: Path) -> Drumbeat:
    """To 6 Brazilians and 3 Germans, with a rejected row, a duplicate and a suppressed phone."""
    phones = [f"+551198000000{last}" for last in range(6)] + [f"+491511234567{last}" for last in range(3)]
    phones += ["12", phones[0], "+14155550101"]
    rows = "".join(f"{phone},Ana,A-1\n" for phone in phones)
    (tmp_path / "people.csv").write_text("phone,name,order\n" + rows, "utf-8")
    drumbeat.ok("suppress", "add", "+14155550101")
    drumbeat.ok("numbers", "limit", "1", "2")
    drumbeat.ok("numbers", "limit", "2", "1")
    options = ("--number", "1", "--number", "2", "--start-at", "2099-01-01T06:00Z", "--window", "09:00-20:00")
    drumbeat.ok(*CREATE, "--audience", "people.csv", "--param", "name", "--param", "order", *options)
    return drumbeat


def test_the_plan_has_everything_that_a_person_asks(spring: Drumbeat) -> None:
    plan = spring.ok(*PLAN, "--json").json
    assert list(plan) == [
        "schema", "name", "template", "language", "templates", "unmatched_languages", "category", "recipients",
        "countries", "numbers", "days",
        "sending_s", "starts_at", "ends_at", "expires_at", "expires_before_end", "left_out", "cost",
    ]  # fmt: skip
    assert (plan["recipients"], plan["countries"]) == (9, {"BR": 6, "DE": 3})
    assert [(number["phone_number_id"], number["recipients"]) for number in plan["numbers"]] == [
        ("1", 6),
        ("2", 3),
    ]
    assert all(number["allowed"] for number in plan["numbers"])
    assert (plan["sending_s"], plan["days"]) == (3.0, 1)
    assert (plan["starts_at"], plan["ends_at"]) == ("2099-01-01T09:00:00Z", "2099-01-01T09:00:03Z")
    assert plan["left_out"] == {"rejected": 1, "duplicate": 1, "suppressed": 1}
    assert plan["cost"] is None


def test_it_costs_what_the_file_says(spring: Drumbeat, tmp_path: Path) -> None:
    category = spring.ok(*PLAN, "--json").json["category"]
    (tmp_path / "prices.csv").write_text(f"{HEADER}BR,{category},0.0333,XTS,2026-01-31\n")
    cost = spring.ok(*PLAN, "--prices", "prices.csv", "--json").json["cost"]
    assert cost == {
        "category": category, "totals": {"XTS": "0.1998"}, "unpriced": {"DE": 3},
        "oldest": "2026-01-31", "newest": "2026-01-31",
    }  # fmt: skip
    told = spring.ok(*PLAN, "--prices", "prices.csv").stdout
    assert f"cost: 0.1998 XTS, by prices of 2026-01-31 for {category}" in told
    assert "no price" in told
    assert "left out: rejected 1, duplicate 1, suppressed 1" in told


def test_a_messaging_limit_that_is_too_low_is_shown(
    drumbeat: Drumbeat, service: Service, tmp_path: Path
) -> None:
    service.post("numbers", {"id": "1", "messaging_limit_tier": "TIER_1K"})
    drumbeat.ok("numbers", "sync")
    drumbeat.ok("templates", "sync")
    rows = "".join(f"+5511980{person:06},Ana,A-1\n" for person in range(1001))
    (tmp_path / "people.csv").write_text("phone,name,order\n" + rows, "utf-8")
    params = ("--param", "name", "--param", "order", "--expires-at", "2098-01-01T00:00Z")
    drumbeat.ok(*CREATE, "--audience", "people.csv", "--number", "1", *params)
    plan = drumbeat.ok(*PLAN, "--json").json
    assert (plan["days"], plan["numbers"][0]["allowed"], plan["numbers"][0]["people_per_day"]) == (
        2,
        False,
        1000,
    )
    assert plan["expires_before_end"] is False
    assert "2 periods of 24 hours" in drumbeat.ok(*PLAN).stdout


def test_a_wrong_table_and_an_unknown_campaign_are_refused(spring: Drumbeat, tmp_path: Path) -> None:
    (tmp_path / "prices.csv").write_text(f"{HEADER}BR,MARKETING,cheap,XTS,2026-01-31\n")
    done = spring(*PLAN, "--prices", "prices.csv")
    assert (done.exit_code, done.stdout) == (78, "")
    assert "row 2, column price" in done.complaint
    assert spring("campaign", "plan", "autumn").exit_code == 78


def test_a_dry_run_says_what_would_be_planned(drumbeat: Drumbeat, synced: Service, audience: Path) -> None:
    words = (
        *CREATE,
        "--audience",
        audience,
        "--number",
        "1",
        "--param",
        "name",
        "--param",
        "order",
        "--dry-run",
    )
    dry = drumbeat.ok(*words, "--json").json
    assert (dry["dry_run"], dry["recipients"], dry["rejects_file"]) == (True, 10, None)
    told = drumbeat.ok(*words).stdout
    assert "nothing is stored" in told
    assert "campaign run" not in told
    assert drumbeat.ok("campaign", "list", "--json").json["campaigns"] == []
