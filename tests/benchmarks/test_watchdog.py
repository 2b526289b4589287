"""Registered resources do not outlive the benchmark, and nothing else is touched."""

import subprocess
import sys
from pathlib import Path

import orjson
import psutil

from drumbeat.benchmarks.harness.watchdog import register, unregister, watchdog

WATCHDOG = (sys.executable, "-m", "drumbeat.benchmarks.harness.watchdog")
SLEEPING = (sys.executable, "-c", "import time; time.sleep(600)")


def clean_up(*lines: tuple[str, str, bool]) -> None:
    """Run a watchdog that reads these lines, until it has ended."""
    said = b"".join(orjson.dumps(line) + b"\n" for line in lines)
    assert subprocess.run(WATCHDOG, input=said, timeout=60, check=False).returncode == 0


def test_what_began_is_ended_and_what_ended_is_left_alone(tmp_path: Path) -> None:
    own, other = tmp_path / "own", tmp_path / "other"
    own.mkdir()
    other.mkdir()
    (own / "file").touch()
    with subprocess.Popen(SLEEPING) as meant, subprocess.Popen(SLEEPING) as done:
        try:
            clean_up(
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
    clean_up(("process", str(gone.pid), True), ("directory", str(left), True))
    assert not left.exists()


def test_a_benchmark_continues_without_its_watchdog(tmp_path: Path) -> None:
    own = psutil.Process()
    before = set(own.children())
    with watchdog():
        (process,) = set(own.children()) - before
        process.kill()
        process.wait()
        register("directory", tmp_path)
        unregister("directory", tmp_path)
    register("directory", tmp_path)  # without a watchdog it has no effect
    assert tmp_path.exists()


def test_a_watchdog_ends_with_its_block() -> None:
    own = psutil.Process()
    before = set(own.children())
    with watchdog():
        (process,) = set(own.children()) - before
    assert not process.is_running()
