"""What scripts read: the JSON of each command, and CSV that no spreadsheet runs."""

import csv
import io
import json
import re
from pathlib import Path

import pytest

from drumbeat.campaigns.audience.check.reject_file import HEADER
from drumbeat.campaigns.results.export import safe_cell
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.leases import stop
from tests.cli.processes import Drumbeat, Service

COUNTS = ["pending", "deferred", "accepted", "sent", "delivered", "read", "failed", "unknown", "skipped"]
STATUS = [
    "schema", "name", "external_id", "state", "reason", "reason_code", "recipients", "counts", "rate_per_s", "eta_s",
    "started_at", "finished_at", "numbers", "nobody_sends", "pruned_recipients", "pruned_unknown",
    "waits", "templates", "priority", "share_percent", "pause_at_failed", "canary", "why",
]  # fmt: skip


def create(drumbeat: Drumbeat, audience: Path, *options: str) -> None:
    drumbeat.ok(
        *("campaign", "create", "spring", "--template", "order_shipped", "--language", "en_US"),
        *("--audience", audience, "--number", "1", "--param", "name", "--param", "order", *options),
    )


def test_the_status_has_the_fixed_shape(drumbeat: Drumbeat, synced: Service, audience: Path) -> None:
    create(drumbeat, audience)
    status = drumbeat.ok("campaign", "status", "spring", "--json").json
    assert list(status) == STATUS
    assert list(status["counts"]) == COUNTS
    assert status["schema"] == 1
    assert (status["name"], status["state"], status["recipients"]) == ("spring", "draft", 10)
    assert status["counts"]["pending"] == 10
    assert (status["rate_per_s"], status["eta_s"]) == (0.0, None)
    assert (status["started_at"], status["finished_at"]) == (None, None)
    assert [number["phone_number_id"] for number in status["numbers"]] == ["1"]

    run = drumbeat.ok("campaign", "run", "spring", "--json")
    assert list(run.json) == [*STATUS, "shortfall"]
    assert run.json["shortfall"] == ""
    assert run.json["started_at"] < run.json["finished_at"]
    assert "spring" in drumbeat.ok("campaign", "status", "spring").stdout


def test_a_dry_run_sends_nothing(drumbeat: Drumbeat, synced: Service, audience: Path) -> None:
    create(drumbeat, audience)
    dry = drumbeat.ok("campaign", "run", "spring", "--dry-run", "--json").json
    assert list(dry) == [*STATUS, "would_send", "limit_per_s", "takes_s"]
    assert (dry["would_send"], dry["limit_per_s"], dry["takes_s"]) == (10, 80.0, 0.1)
    assert "10 messages would be sent" in drumbeat.ok("campaign", "run", "spring", "--dry-run").stdout
    assert drumbeat.ok("campaign", "status", "spring", "--json").json["state"] == "draft"
    assert synced.accepted() == 0


def test_numbers_and_their_limits(drumbeat: Drumbeat, synced: Service) -> None:
    numbers = drumbeat.ok("numbers", "list", "--json").json["numbers"]
    assert [(number["phone_number_id"], number["limit_is_manual"]) for number in numbers] == [
        ("1", False),
        ("2", False),
    ]
    drumbeat.ok("numbers", "limit", "1", "0.25")
    drumbeat.ok("numbers", "limit", "2", "98765.5")
    numbers = drumbeat.ok("numbers", "sync", "--json").json["numbers"]
    assert [number["limit_per_s"] for number in numbers] == [0.25, 98765.5]
    drumbeat.ok("numbers", "limit", "1", "service")
    assert drumbeat.ok("numbers", "list", "--json").json["numbers"][0]["limit_is_manual"] is False
    for rate in ("0", "nan", "inf", "1e-300", "123456.5"):
        assert drumbeat("numbers", "limit", "1", rate).exit_code == 2
    told = drumbeat.ok("numbers", "list").stdout
    assert told.splitlines()[0].split() == [
        "NUMBER", "PHONE", "NAME", "QUALITY", "TIER", "PEOPLE", "LIMIT", "PERMITTED", "RATE", "STATE",
    ]  # fmt: skip


async def test_a_stopped_number_names_the_command_that_resumes_it(
    drumbeat: Drumbeat, synced: Service, audience: Path, other: Connection
) -> None:
    create(drumbeat, audience)
    await stop(other, "1", "blocked (131031)")
    command = "drumbeat numbers resume 1"
    assert f"stopped: blocked (131031); resume with `{command}`" in drumbeat.ok("numbers", "list").stdout
    assert command in drumbeat.ok("campaign", "status", "spring").stdout
    for refused in (drumbeat("campaign", "start", "spring"), drumbeat("campaign", "run", "spring")):
        assert refused.exit_code == 75 and command in refused.complaint
    done = drumbeat.ok("numbers", "resume", "1", "--json").json
    assert done == {
        "schema": 1, "phone_number_id": "1", "reason": "blocked (131031)", "paused_campaigns": [], "resumed": True,
    }  # fmt: skip
    assert drumbeat.ok("numbers", "resume", "1").stdout == "1: nothing stops it\n"
    assert "number-resume, number 1, reason blocked" in drumbeat.ok("campaign", "report", "spring").stdout
    assert drumbeat("numbers", "resume", "9").exit_code == 78


def test_a_scheduled_campaign_without_a_worker_says_so(
    drumbeat: Drumbeat, synced: Service, audience: Path
) -> None:
    create(drumbeat, audience, "--start-at", "2999-01-01T00:00:00Z")
    started = drumbeat.ok("campaign", "start", "spring")
    assert started.stdout == "spring: scheduled\n"
    assert started.stderr == "no worker with its numbers is running: start one with `drumbeat worker`\n"
    assert drumbeat("numbers", "limit", "9", "5").exit_code == 78


def test_templates_follow_the_service(drumbeat: Drumbeat, synced: Service) -> None:
    templates = drumbeat.ok("templates", "list", "--json").json["templates"]
    assert {"name": "winter_sale", "language": "en_US", "status": "PAUSED"}.items() <= templates[-1].items()
    assert "{{1}}" in drumbeat.ok("templates", "show", "order_shipped").stdout
    assert len(drumbeat.ok("templates", "show", "order_shipped", "--json").json["templates"]) == 2
    synced.post("templates/winter_sale/status", {"status": "APPROVED"})
    drumbeat.ok("templates", "sync")
    templates = drumbeat.ok("templates", "list", "--json").json["templates"]
    assert templates[-1]["status"] == "APPROVED"
    assert drumbeat("templates", "show", "nothing").exit_code == 78


def test_the_suppression_list(drumbeat: Drumbeat, tmp_path: Path) -> None:
    assert (
        drumbeat.ok("suppress", "add", "+55 11 98000-0001", "--reason", "=asked", "--json").json["changed"]
        == 1
    )
    assert drumbeat.ok("suppress", "add", "+5511980000001", "--json").json["unchanged"] == 1
    assert "0 added, 1 on the list already" in drumbeat.ok("suppress", "add", "+5511980000001").stdout
    assert "0 removed, 1 not on the list" in drumbeat.ok("suppress", "remove", "+5511980000009").stdout
    (tmp_path / "stop.csv").write_text("Telefone\n+5511980000002\n12\n")
    done = drumbeat("suppress", "import", "stop.csv", "--phone-column", "Telefone", "--json")
    assert done.exit_code == 3
    assert "1 row could not be read" in done.complaint
    assert str(tmp_path / "stop.suppress.csv") in done.complaint
    (tmp_path / "good.csv").write_text("phone\n+5511980000002\n")
    of_a_campaign = tmp_path / "good.rejects.csv"
    of_a_campaign.write_text(",".join(HEADER))
    assert drumbeat.ok("suppress", "import", "good.csv", "--json").json["unchanged"] == 1
    assert of_a_campaign.exists(), "an import replaces and removes no list of a campaign"
    assert (done.json["changed"], done.json["rejected"]) == (1, 1)
    rows = list(csv.reader(io.StringIO(drumbeat.ok("suppress", "list").stdout)))
    assert [row[:2] for row in rows[1:]] == [["+5511980000001", "'=asked"], ["+5511980000002", "imported"]]
    assert drumbeat.ok("suppress", "remove", "+5511980000002", "--json").json["changed"] == 1
    (listed,) = drumbeat.ok("suppress", "list", "--json").stdout.splitlines()
    assert json.loads(listed)["phone"] == "+5511980000001"


def test_an_audience_is_checked_without_a_database(drumbeat: Drumbeat, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("phone;nome;cidade\n+5511980000001;Ana;São\n12;x;y\n", "cp1252")
    words = ("audience", "check", "people.csv", "--param", "nome")
    found = drumbeat.ok(*words, "--json", database_url="postgresql://127.0.0.1:9/x").json
    assert (found["rows"], found["good"], found["delimiter"]) == (2, 1, ";")
    assert found["encoding"] == "Windows-1252"
    assert found["reject_codes"] == {"phone_too_short": 1}
    assert (tmp_path / "people.check.csv").exists()
    assert drumbeat(*words, "--strict").exit_code == 78


def test_an_export_to_a_file_is_whole_and_private(
    drumbeat: Drumbeat, synced: Service, tmp_path: Path
) -> None:
    (tmp_path / "people.csv").write_text(
        "phone,name,order\n+5511980000001,=HYPERLINK(1),A\n+5511980000002,Ana,B\n"
    )
    create(drumbeat, tmp_path / "people.csv")
    drumbeat.ok("campaign", "run", "spring", "--quiet")
    drumbeat.ok("campaign", "export", "spring", "--output", "all.csv")
    rows = list(csv.DictReader((tmp_path / "all.csv").open(encoding="utf-8-sig")))
    assert [(row["phone"], row["state"], row["name"]) for row in rows] == [
        ("+5511980000001", "accepted", "'=HYPERLINK(1)"),
        ("+5511980000002", "accepted", "Ana"),
    ]
    assert (tmp_path / "all.csv").stat().st_mode & 0o077 == 0
    assert sorted(path.name for path in tmp_path.glob("*all.csv*")) == ["all.csv"]
    none = drumbeat.ok("campaign", "export", "spring", "--state", "failed").stdout
    assert len(none.splitlines()) == 1
    assert drumbeat("campaign", "export", "spring", "--output", "no/such/place.csv").exit_code == 78


@pytest.mark.parametrize("text", ["=1", "+1", "-1", "@x", "\tx", "\rx", " =1", "＝1"])
def test_no_cell_starts_a_formula(text: str) -> None:
    assert safe_cell(text) == f"'{text}"


def test_a_cell_that_starts_none_stays_as_it_is() -> None:
    assert [safe_cell(text) for text in ("Ana", "5511", "", "a=b")] == ["Ana", "5511", "", "a=b"]


def test_nobody_in_doubt_has_the_same_shape(drumbeat: Drumbeat, synced: Service, audience: Path) -> None:
    create(drumbeat, audience)
    for option, done in (("--resend", "sent again"), ("--assume-sent", "taken as sent")):
        printed = drumbeat.ok("campaign", "settle", "spring", option).stdout
        assert printed == f"nobody is in doubt: nothing is {done}\nin doubt: 0\n"


def test_steering_a_campaign_that_does_not_run(drumbeat: Drumbeat, synced: Service, audience: Path) -> None:
    create(drumbeat, audience)

    def moved(*words: str) -> tuple[str, bool]:
        changed_campaign = drumbeat.ok("campaign", *words, "--json").json["campaigns"][0]
        return changed_campaign["state"], changed_campaign["changed"]

    assert moved("start", "spring") == ("running", True)
    assert moved("start", "spring") == ("running", False)
    started = drumbeat.ok("campaign", "start", "spring")
    waits = "no worker with its numbers is running: start one with `drumbeat worker`, or use `drumbeat campaign run"
    assert waits in started.stderr
    assert moved("pause", "--all") == ("paused", True)
    assert drumbeat("campaign", "start", "spring").exit_code == 75
    assert moved("resume", "spring") == ("running", True)
    assert moved("cancel", "spring") == ("cancelled", True)
    assert moved("cancel", "spring") == ("cancelled", False)
    assert drumbeat("campaign", "resume", "spring").exit_code == 2
    assert drumbeat.ok("campaign", "pause", "--all", "--json").json["campaigns"] == []
    assert re.search(r" \d\d:\d\dZ ", drumbeat.ok("campaign", "list").stdout), "of which time zone"


def test_the_doctor_names_the_worst_and_what_to_do(drumbeat: Drumbeat, synced: Service) -> None:
    well = drumbeat("doctor", "--json")
    assert well.exit_code == 0
    levels = {finding["subject"]: finding["level"] for finding in well.json["findings"]}
    assert levels.pop("durability of the database") == "warn"  # the tests' server has no fsync
    assert levels.pop("descriptors") in ("ok", "warn"), "of the machine that runs this"
    assert set(levels.values()) == {"ok"}
    assert levels.keys() >= {
        "python",
        "database",
        "numbers",
        "templates",
        "service",
        "token",
        "app_secret",
    }
    assert "home" not in levels, "the database is elsewhere"
    assert drumbeat("doctor", access_token="old").exit_code == 77
    assert drumbeat("doctor", base_url="http://127.0.0.1:9").exit_code == 69
    away = drumbeat("doctor", database_url="postgresql://127.0.0.1:9/x", verify_token="")
    assert away.exit_code == 69
    assert "fail  database" in away.stdout
    assert "warn  verify_token" in away.stdout
    assert "DRUMBEAT_VERIFY_TOKEN" in away.stdout
