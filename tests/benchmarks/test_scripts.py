"""Programs in `benchmarks/`, however they end: nothing that they started stays, and no argument is a traceback."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from signal import SIGHUP, SIGINT, SIGKILL, SIGTERM, Signals

import pytest

from tests.cli.processes import ROOT, children_of, leftovers, until

ENDS_S_MAX = 300.0
NOT_SCRIPTS = {"__init__", "suite"}
NAMES = sorted({path.stem for path in (ROOT / "benchmarks").glob("*.py")} - NOT_SCRIPTS)


def command(name: str, *words: str) -> Sequence[str]:
    return sys.executable, "-m", f"drumbeat.benchmarks.{name}", *words


@contextmanager
def sending(scratch: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A benchmark with an emulator and a Postgres (which is no child of its own), sending for a minute."""
    with subprocess.Popen(
        command("pacing", "60"), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            until(
                lambda: any("harness.workers" in words for words in children_of(process.pid)),
                "it sends",
                ENDS_S_MAX,
            )
            assert any("/postgres" in words for words in leftovers(scratch))
            yield process
        finally:
            process.kill()


@pytest.mark.long
@pytest.mark.parametrize(
    "number",
    [SIGTERM, pytest.param(SIGINT, marks=pytest.mark.slow), pytest.param(SIGHUP, marks=pytest.mark.slow)],
)
def test_a_benchmark_that_is_stopped_leaves_nothing(scratch: Path, number: Signals) -> None:
    with sending(scratch) as process:
        process.send_signal(number)
        _, said = process.communicate(timeout=ENDS_S_MAX)
    assert process.returncode == 128 + number
    assert b"Traceback" not in said
    assert leftovers(scratch) == []


@pytest.mark.long
def test_a_benchmark_that_is_killed_leaves_nothing_either(scratch: Path) -> None:
    with sending(scratch) as process:
        process.kill()
        process.communicate(timeout=ENDS_S_MAX)
    assert process.returncode == -SIGKILL
    until(lambda: leftovers(scratch) == [], "its watchdog ends what it left", ENDS_S_MAX)


@pytest.mark.parametrize("name", NAMES)
def test_each_says_what_it_is_and_takes_no_nonsense(name: str) -> None:
    wrong = subprocess.run(
        command(name, "-1"), cwd=ROOT, capture_output=True, timeout=ENDS_S_MAX, check=False
    )
    assert wrong.returncode == 2
    assert f"usage: python -m drumbeat.benchmarks.{name}".encode() in wrong.stderr
