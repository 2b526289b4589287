"""`--wait`: a run that waits for its time, or for another runner, and then does all the rest."""

from datetime import UTC, datetime, timedelta

from tests.acceptance.conftest import Scene
from tests.cli.processes import until


def test_a_second_runner_that_waits_takes_over_where_the_first_stopped(scene: Scene) -> None:
    scene.create(600)
    scene.drumbeat.ok("numbers", "limit", "1", "5")
    scene.drumbeat.ok("numbers", "limit", "2", "50")
    first = scene.drumbeat.start("campaign", "run", "spring", "--quiet")
    until(lambda: scene.service.accepted() > 20, "the first one sends")
    second = scene.drumbeat.start("campaign", "run", "spring", "--quiet", "--wait")
    first.terminate()
    first.communicate(timeout=30)
    assert first.returncode == 143
    assert scene.service.accepted() < 600
    scene.drumbeat.ok("numbers", "limit", "2", "service")
    _, stderr = second.communicate(timeout=60)
    assert second.returncode == 0, stderr
    assert len(scene.service.recipients()) == len(set(scene.service.recipients())) == 600


def all_owned(scene: Scene) -> bool:
    return all(number["owner"] for number in scene.drumbeat.ok("numbers", "list", "--json").json["numbers"])


def test_a_worker_sends_the_draft_of_a_run_that_waits(scene: Scene) -> None:
    worker = scene.drumbeat.start("worker", "--no-metrics", "--quiet")
    until(lambda: all_owned(scene), "the worker has all numbers")
    scene.create(20)
    run = scene.drumbeat("campaign", "run", "spring", "--wait", "--json", "--quiet")
    assert run.exit_code == 0, run.stderr
    assert scene.service.accepted() == 20
    worker.terminate()
    assert worker.wait(timeout=30) == 143


def test_a_run_that_waits_starts_at_its_time(scene: Scene) -> None:
    start_at = datetime.now(UTC) + timedelta(seconds=3)
    scene.create(20, "--start-at", start_at.isoformat())
    run = scene.drumbeat("campaign", "run", "spring", "--wait", "--json", "--quiet")
    assert run.exit_code == 0, run.stderr
    assert datetime.fromisoformat(run.json["started_at"]) >= start_at
    assert scene.service.accepted() == 20


def test_a_run_that_waits_can_be_stopped(scene: Scene) -> None:
    scene.create(20, "--start-at", (datetime.now(UTC) + timedelta(days=1)).isoformat())
    run = scene.drumbeat.start("campaign", "run", "spring", "--wait")
    assert run.stderr is not None
    until(lambda: "run_postponed" in run.stderr.readline(), "it says that it waits")
    run.terminate()
    run.communicate(timeout=30)
    assert run.returncode == 143
    assert scene.service.accepted() == 0
