"""`worker`: a process that ends is started again, a stop ends all, and no process is left behind."""

import os
import signal
from contextlib import suppress
from pathlib import Path

import orjson
import psutil

from drumbeat.campaigns.cli.supervisor import RESTART_S_MAX, wait_s
from drumbeat.engine.store.database import Connection
from tests.acceptance.conftest import Scene
from tests.cli.processes import until

PEOPLE = 3_000


def test_the_waits_grow_and_end() -> None:
    waits = [wait_s(failures) for failures in range(1, 2_000)]
    assert waits[:3] == [0.5, 1.0, 2.0]
    assert waits == sorted(waits) and waits[-1] == RESTART_S_MAX


def working(parent: int) -> dict[str, int]:
    """The processes of a supervisor, by the number that each sends with."""
    found = {}
    for child in psutil.Process(parent).children():
        with suppress(psutil.Error):  # it ends just now
            words = child.cmdline()
            if "--number" in words:
                found[words[words.index("--number") + 1]] = child.pid
    return found


def waiting(scene: Scene) -> int:
    counts = scene.counts()
    return counts["pending"] + counts["deferred"]


def test_a_killed_process_is_replaced_and_the_other_continues(scene: Scene, tmp_path: Path) -> None:
    scene.create(PEOPLE)
    scene.drumbeat.ok("campaign", "start", "spring")
    log = tmp_path / "worker.log"
    worker = scene.drumbeat.start("worker", "--processes", "2", log=log)
    until(lambda: scene.service.accepted() > 100, "it sends")
    first = working(worker.pid)
    assert first.keys() == {"1", "2"}
    os.kill(first["1"], signal.SIGKILL)
    until(lambda: working(worker.pid).get("1", first["1"]) != first["1"], "another one was started")
    assert working(worker.pid)["2"] == first["2"], "the other was left alone"
    until(lambda: '"process_ended"' in log.read_text(), "its end is logged")
    ended = [
        line for line in map(orjson.loads, log.read_text().splitlines()) if line["event"] == "process_ended"
    ]
    assert [(line["process"], line["exit_code"], line["restart_s"]) for line in ended] == [
        (first["1"], -9, 0.5)
    ]
    until(lambda: not waiting(scene), "everybody was claimed, and nobody waits for another try")
    worker.terminate()
    assert worker.wait(timeout=30) == 143
    assert not any(psutil.pid_exists(pid) for pid in first.values())
    recipients = scene.service.recipients()
    assert len(recipients) == len(set(recipients))
    counts = scene.counts()
    assert counts["unknown"] + len(recipients) >= PEOPLE


def test_who_cannot_be_helped_by_a_restart_ends_all(scene: Scene) -> None:
    done = scene.drumbeat("worker", "--processes", "2", access_token="")
    assert done.exit_code == 78
    assert "process_ended" not in done.stderr


def test_whoever_loses_its_supervisor_drains(scene: Scene, tmp_path: Path) -> None:
    worker = scene.drumbeat.start("worker", "--processes", "2", log=tmp_path / "worker.log")
    until(lambda: working(worker.pid).keys() == {"1", "2"}, "both run")
    children = [psutil.Process(pid) for pid in working(worker.pid).values()]
    worker.kill()
    worker.wait(timeout=30)
    until(lambda: not any(child.is_running() for child in children), "no child is left")


async def test_an_end_without_the_database_is_reported(
    scene: Scene, other: Connection, tmp_path: Path
) -> None:
    log = tmp_path / "worker.log"
    worker = scene.drumbeat.start("worker", log=log)
    until(lambda: log.read_text().count("number_taken") == 2, "it has its numbers")
    await other.execute("BEGIN; LOCK TABLE numbers")
    worker.terminate()
    assert worker.wait(timeout=30) == 69
    await other.execute("ROLLBACK")
    assert "some results are not stored" in log.read_text()
