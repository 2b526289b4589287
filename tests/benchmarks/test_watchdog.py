"""What began does not outlive who began it, and nobody else is touched."""

import subprocess
import sys
from pathlib import Path

import orjson
import psutil

from benchmarks.harness.watchdog import began, ended, guarded

GUARDIAN = (sys.executable, "-m", "benchmarks.harness.watchdog")
SLEEPING = (sys.executable, "-c", "import time; time.sleep(600)")


def told(*lines: tuple[str, str, bool]) -> None:
    """A guardian that hears these lines, and then that the bench is gone; returns when it has ended."""
    said = b"".join(orjson.dumps(line) + b"\n" for line in lines)
    assert subprocess.run(GUARDIAN, input=said, timeout=60, check=False).returncode == 0


def test_what_began_is_ended_and_what_ended_is_left_alone(tmp_path: Path) -> None:
    own, other = tmp_path / "own", tmp_path / "other"
    own.mkdir()
    other.mkdir()
    (own / "file").touch()
    with subprocess.Popen(SLEEPING) as meant, subprocess.Popen(SLEEPING) as done:
        try:
            told(
                ("process", str(meant.pid), True),
                ("process", str(done.pid), True),
                ("process", str(done.pid), False),
                ("directory", str(own), True),
                ("directory", str(other), True),
                ("directory", str(other), False),
                ("home", str(tmp_path / "never-made"), True),
            )
            assert meant.wait(10) == -15
            assert psutil.Process(done.pid).is_running()
            assert done.poll() is None
        finally:
            meant.kill()
            done.kill()
    assert not own.exists()
    assert other.exists()


def test_a_process_that_is_gone_is_no_obstacle(tmp_path: Path) -> None:
    with subprocess.Popen((sys.executable, "-c", "")) as gone:
        gone.wait()
    left = tmp_path / "left"
    left.mkdir()
    told(("process", str(gone.pid), True), ("directory", str(left), True))
    assert not left.exists()


def test_a_bench_goes_on_without_its_guardian(tmp_path: Path) -> None:
    own = psutil.Process()
    before = set(own.children())
    with guarded():
        (guardian,) = set(own.children()) - before
        guardian.kill()
        guardian.wait()
        began("directory", tmp_path)
        ended("directory", tmp_path)
    began("directory", tmp_path)  # and nobody hears of what is no bench's
    assert tmp_path.exists()


def test_a_guardian_ends_with_its_block() -> None:
    own = psutil.Process()
    before = set(own.children())
    with guarded():
        (guardian,) = set(own.children()) - before
    assert not guardian.is_running()
