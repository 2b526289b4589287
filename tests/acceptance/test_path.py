"""The whole path, from a file to the last status, as a user walks it."""

import csv
import io

from tests.acceptance.conftest import Scene
from tests.cli.processes import until

PEOPLE = 1_500


def test_from_a_file_to_the_last_status(scene: Scene) -> None:
    scene.drumbeat.ok("suppress", "add", "+5511980000007")
    scene.create(PEOPLE)
    assert scene.state() == "draft"
    assert scene.counts()["pending"] == PEOPLE - 1

    run = scene.drumbeat.ok("campaign", "run", "spring", "--json", "--quiet")
    assert run.json["state"] == "finished"
    assert run.stderr == ""
    assert sorted(scene.service.recipients()) == sorted(_phones(PEOPLE, without=7))

    until(scene.events_delivered, "every event was delivered")
    until(lambda: not scene.counts()["accepted"] + scene.counts()["sent"], "every status was applied")
    counts = scene.counts()
    assert counts["delivered"] + counts["read"] == PEOPLE - 1
    assert counts["skipped"] == 1

    report = scene.drumbeat.ok("campaign", "report", "spring", "--json").json
    assert report["audience"] == {
        "rows": PEOPLE, "recipients": PEOPLE, "rejected": 0, "duplicates": 0, "adds_up": True,
    }  # fmt: skip
    assert report["counts_add_up"]
    assert report["reasons"]["skipped"] == [{"reason": "suppressed", "meaning": "", "recipients": 1}]
    assert sum(number["accepted"] for number in report["numbers"]) == PEOPLE - 1
    assert report["cpu_us_per_message"] > 0
    assert "delivered" in scene.drumbeat.ok("campaign", "report", "spring").stdout

    settle = scene.drumbeat.ok("campaign", "settle", "spring", "--json").json
    assert settle["in_doubt"] == 0
    rows = list(csv.DictReader(io.StringIO(scene.drumbeat.ok("campaign", "export", "spring").stdout)))
    assert sorted(row["phone"].removeprefix("+") for row in rows) == sorted(_phones(PEOPLE))
    assert rows[0]["name"] == "Ana 0"

    again = scene.drumbeat.ok("campaign", "run", "spring", "--json", "--quiet")
    assert again.json["state"] == "finished"
    assert scene.service.accepted() == PEOPLE - 1


def test_failures_above_the_limit_are_exit_3_and_reported_by_code(scene: Scene) -> None:
    for person in range(5):
        scene.service.post("recipients", {"to": f"{5_511_980_000_000 + person}", "on_network": False})
    scene.create(100, "--max-failed", "10%")
    assert scene.drumbeat("campaign", "run", "spring", "--quiet").exit_code == 0
    above = scene.drumbeat("campaign", "run", "spring", "--json", "--quiet", "--max-failed", "4%")
    assert above.exit_code == 3
    assert above.complaint == "drumbeat: 5 of 100 failed (5.0 %), more than the limit of 4%"
    assert f"drumbeat: {above.json['shortfall']}" == above.complaint
    assert scene.drumbeat("campaign", "run", "spring", "--quiet", "--max-failed", "5").exit_code == 0
    failed = scene.drumbeat.ok("campaign", "report", "spring", "--json").json["reasons"]["failed"]
    assert [(reason["reason"], reason["recipients"]) for reason in failed] == [("131026", 5)]
    assert "not on the network" in failed[0]["meaning"]


def test_a_worker_sends_what_is_released_to_it_and_stops_in_order(scene: Scene) -> None:
    scene.create(300)
    worker = scene.drumbeat.start("worker", "--processes", "2", "--quiet")
    scene.drumbeat.ok("campaign", "start", "spring")
    until(lambda: scene.state() == "finished", "the worker finished the campaign")
    worker.terminate()
    worker.communicate(timeout=30)
    assert worker.returncode == 143
    assert sorted(scene.service.recipients()) == sorted(_phones(300))


def _phones(people: int, without: int = -1) -> list[str]:
    return [str(5_511_980_000_000 + person) for person in range(people) if person != without]
