"""Jobs that run before a person looks: what is not there yet is 75, and programs read why."""

import os
import time
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.cli.conftest import write_audience
from tests.cli.processes import Done, Drumbeat, Service

APPLY = ("campaign", "apply", "spring.toml", "--param", "name", "--param", "order")


@pytest.fixture
def manifest(tmp_path: Path, synced: Service) -> Path:
    path = tmp_path / "spring.toml"
    path.write_text(
        'name = "spring"\ntemplate = "order_shipped"\nlanguage = "pt_BR"\nnumber = ["2"]\naudience = "people.csv"\n'
    )
    return path


def error(done: Done) -> dict[str, Any]:
    found: dict[str, Any] = done.json["error"]
    assert done.json["schema"] == 1 and found["exit_code"] == done.exit_code, done.stdout
    assert found["what"] in done.complaint
    return found


def aged(path: Path, age_s: float) -> Path:
    changed_at_s = time.time() - age_s
    os.utime(path, (changed_at_s, changed_at_s))
    return path


def half_written(path: Path) -> None:
    text = write_audience(path, 5).read_text("utf-8")
    aged(path, 100).write_text(text.rstrip("\n"), "utf-8")
    aged(path, 100)


NOT_YET = {
    "missing": (lambda path: None, (), "does not exist"),
    "empty": (lambda path: path.write_text(""), (), "the file is empty"),
    "only a header": (lambda path: path.write_text("phone,name,order\n"), (), "has no rows"),
    "young": (lambda path: write_audience(path, 5), ("--unchanged-for", "60s"), "the file changed "),
    "half a line": (half_written, ("--unchanged-for", "60s"), "last line"),
    "too few": (lambda path: write_audience(path, 5), ("--min-recipients", "6"), "asks for 6"),
}


@pytest.mark.parametrize("case", NOT_YET)
def test_an_audience_that_is_not_there_yet_is_75(drumbeat: Drumbeat, manifest: Path, case: str) -> None:
    write, options, words = NOT_YET[case]
    write(manifest.with_name("people.csv"))
    refused = drumbeat(*APPLY, *options, "--json")
    assert refused.exit_code == 75 and error(refused)["code"] == "not_ready", refused.stderr
    assert words in error(refused)["what"] and error(refused)["remedy"]
    assert drumbeat.ok("campaign", "list", "--json").json["campaigns"] == []
    aged(write_audience(manifest.with_name("people.csv"), 6), 90)
    assert drumbeat.ok(*APPLY, *options, "--json").json["recipients"] == 6


def test_the_rows_of_a_query_may_come_later(drumbeat: Drumbeat, manifest: Path, database_url: str) -> None:
    sql = "SELECT '+5511980000001' AS phone, 'Ana' AS name, 'A-1' AS \"order\""
    manifest.write_text(manifest.read_text().replace('audience = "people.csv"\n', ""))
    query = ("--audience-database", database_url, "--audience-sql")
    assert error(drumbeat(*APPLY, *query, f"{sql} WHERE false", "--json"))["code"] == "not_ready"
    bad = f"{sql} UNION ALL SELECT 'nobody', 'Bob', 'A-2'"
    applied = drumbeat.ok(*APPLY, "--name", "daily/1", *query, bad, "--json").json
    assert (applied["recipients"], Path(applied["rejects_file"]).name) == (1, "daily-1.rejects.csv")
    assert drumbeat.ok(*APPLY, *query, sql, "--json").json["recipients"] == 1


def test_a_day_without_rows_is_planned_and_sent_to_nobody(
    drumbeat: Drumbeat, manifest: Path, service: Service
) -> None:
    manifest.with_name("people.csv").write_text("phone,name,order\n")
    assert drumbeat.ok(*APPLY, "--allow-empty", "--json").json["recipients"] == 0
    ended = drumbeat.ok("campaign", "run", "spring", "--json", "--quiet").json
    assert (ended["state"], ended["recipients"]) == ("finished", 0)
    assert drumbeat.ok("campaign", "report", "spring", "--json").json["recipients"] == 0
    assert service.accepted() == 0
    manifest.with_name("people.csv").write_text("phone,name,order\nnobody,Ana,A-1\n")
    all_bad = drumbeat(*APPLY, "--name", "bad", "--allow-empty", "--json")
    assert all_bad.exit_code == 78 and error(all_bad)["code"] == "wrong_configuration"


def test_a_share_of_the_newest_such_campaign_is_the_least(drumbeat: Drumbeat, manifest: Path) -> None:
    """On the first night there is none. A draft and a retry are no measure."""
    people, least = manifest.with_name("people.csv"), ("--min-recipients", "50% of orders-*")
    write_audience(people, 10)
    drumbeat.ok(*APPLY, "--name", "orders-1", *least)
    write_audience(people, 1)
    drumbeat.ok(*APPLY, "--name", "orders-2", *least)  # orders-1 is a draft
    drumbeat.ok("campaign", "delete", "orders-2", "--yes")
    drumbeat.ok("campaign", "run", "orders-1", "--quiet")
    write_audience(people, 4)
    refused = error(drumbeat(*APPLY, "--name", "orders-2", *least, "--json"))
    assert refused["what"] == "the audience has 4 recipients, and --min-recipients asks for 5"
    write_audience(people, 5)
    drumbeat.ok(*APPLY, "--name", "orders-2", *least)
    named = error(drumbeat(*APPLY, "--name", "orders-3", "--min-recipients", "50% of orders-9", "--json"))
    assert named["code"] == "not_found"


@pytest.mark.parametrize(
    ("option", "value"),
    [("--min-recipients", "0"), ("--min-recipients", "101% of a"), ("--min-recipients", "half of a"),
     ("--unchanged-for", "60"), ("--unchanged-for", "0s"), ("--unchanged-for", "25h")],
)  # fmt: skip
def test_a_value_that_cannot_be_read_is_named(
    drumbeat: Drumbeat, manifest: Path, option: str, value: str
) -> None:
    write_audience(manifest.with_name("people.csv"), 1)
    refused = drumbeat(*APPLY, option, value, "--json")
    assert refused.exit_code == 78 and option.strip("-").replace("-", "_") in error(refused)["what"]


def test_a_campaign_that_was_started_keeps_its_people(
    drumbeat: Drumbeat, manifest: Path, service: Service
) -> None:
    people = write_audience(manifest.with_name("people.csv"), 10)
    drumbeat.ok(*APPLY)
    drumbeat.ok("campaign", "run", "spring", "--quiet")
    for change in (lambda: write_audience(people, 11), lambda: people.write_text(""), people.unlink):
        change()
        applied = drumbeat.ok(*APPLY, "--json").json
        assert (applied["unchanged"], applied["audience_kept"], applied["recipients"]) == (True, True, 10)
        drumbeat.ok("campaign", "run", "spring", "--quiet")
    assert "its people stay as they were planned" in drumbeat.ok(*APPLY).stdout
    write_audience(people, 11)
    refused = drumbeat(*APPLY, "--no-keep-audience", "--json")
    assert (refused.exit_code, error(refused)["code"]) == (78, "wrong_configuration")
    assert "the audience's content has changed" in refused.complaint
    assert service.accepted() == 10


FAILURES = {
    ("campaign", "run", "nobody"): "not_found",
    ("campaign", "run", "spring", "--until", "tomorrow"): "wrong_input",
    ("campaign", "resume", "spring"): "illegal_transition",
    ("campaign", "status"): "wrong_input",
    ("campaign", "statuss"): "wrong_input",
    ("campaign", "delete", "spring"): "wrong_input",
    ("templates", "sync"): "unreachable",
}


@pytest.mark.parametrize("command", FAILURES, ids=" ".join)
def test_every_failure_is_a_document_for_programs(
    drumbeat: Drumbeat, manifest: Path, command: tuple[str, ...]
) -> None:
    write_audience(manifest.with_name("people.csv"), 2)
    drumbeat.ok(*APPLY)
    settings = {"base_url": "http://127.0.0.1:9"} if command[0] == "templates" else {}
    failed = drumbeat(*command, "--json", **settings)
    found = error(failed)
    assert found["code"] == FAILURES[command] and set(found) == {
        "code",
        "what",
        "where",
        "remedy",
        "exit_code",
    }
    assert drumbeat(*command, **settings).stdout == ""


def test_a_run_that_is_incomplete_says_so_in_its_one_document(drumbeat: Drumbeat, manifest: Path) -> None:
    write_audience(manifest.with_name("people.csv"), 2)
    drumbeat.ok(*APPLY)
    drumbeat.ok("campaign", "start", "spring")
    drumbeat.ok("campaign", "cancel", "spring")
    ended = drumbeat("campaign", "run", "spring", "--json", "--quiet")
    assert ended.exit_code == orjson.loads(ended.stdout)["error"]["exit_code"] != 0


def test_campaigns_are_listed_by_state_and_time(drumbeat: Drumbeat, manifest: Path) -> None:
    write_audience(manifest.with_name("people.csv"), 1)
    for name in ("one", "two", "three"):
        drumbeat.ok(*APPLY, "--name", name)
    drumbeat.ok("campaign", "run", "two", "--quiet")

    def listed(*options: str) -> list[str]:
        found = drumbeat.ok("campaign", "list", *options, "--json").json["campaigns"]
        return [campaign["name"] for campaign in found]

    assert listed("--state", "draft") == ["three", "one"]
    assert listed("--limit", "2") == ["three", "two"]
    assert listed("--since", "2999-01-01T00:00:00Z") == []
    assert listed("--since", "2001-01-01T00:00:00Z", "--state", "finished") == ["two"]
