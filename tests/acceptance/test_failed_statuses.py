"""Messages that are accepted with a 200 and then fail by status with a code of more than their recipient."""

import pytest

from tests.acceptance.conftest import Scene
from tests.cli.processes import until


@pytest.mark.parametrize(
    ("code", "exit_code", "reason_code"),
    [
        (131031, 75, "account_refused"),
        (190, 77, "authentication_failed"),
        (132015, 75, "template_refused"),
        (131053, 75, "recipients_refused"),
        (133010, 75, "numbers_stopped"),
    ],
)
def test_a_run_stops_as_after_the_same_reply(
    scene: Scene, code: int, exit_code: int, reason_code: str
) -> None:
    scene.create(600, numbers=("1",))
    scene.drumbeat.ok("numbers", "limit", "1", "30")
    scene.service.post("faults", {"kind": "failed-status", "code": code})
    run = scene.drumbeat("campaign", "run", "spring", "--json", "--quiet")
    assert (run.exit_code, f"({code})" in run.complaint) == (exit_code, True), run.stderr
    status = scene.status()
    assert (status["state"], status["reason_code"]) == ("paused", reason_code)
    assert scene.service.accepted() < 200, "it stopped soon"
    until(scene.events_delivered, "every status came")
    counts = scene.counts()
    assert counts["pending"] + counts["deferred"] > 400, "they wait for the resume"
    assert counts["unknown"] == counts["skipped"] == 0


@pytest.mark.parametrize("code", [131026, 131049])
def test_failures_of_recipients_stop_nothing(scene: Scene, code: int) -> None:
    scene.create(90)  # a hundred of 131026 say that the list looks old
    scene.service.post("faults", {"kind": "failed-status", "code": code})
    scene.drumbeat.ok("campaign", "run", "spring", "--json", "--quiet")
    assert scene.state() == "finished"


def test_after_a_resume_and_a_retry_everybody_has_the_message(scene: Scene) -> None:
    scene.create(300, numbers=("1",))
    scene.drumbeat.ok("numbers", "limit", "1", "30")
    scene.service.post("faults", {"kind": "failed-status", "code": 131042, "count": 10})
    assert scene.drumbeat("campaign", "run", "spring", "--quiet").exit_code == 75
    until(lambda: scene.events_delivered() and scene.counts()["failed"] == 10, "every status came")
    scene.drumbeat.ok("numbers", "limit", "1", "service")
    scene.drumbeat.ok("campaign", "resume", "spring")
    scene.drumbeat("campaign", "run", "spring", "--quiet")
    assert scene.state() == "finished", "late statuses of the first run pause nothing"
    assert scene.service.accepted() == 300
    scene.drumbeat.ok("campaign", "retry", "spring", "--failed")
    assert scene.counts()["failed"] == 10
