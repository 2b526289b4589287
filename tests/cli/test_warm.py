"""A warm start of the command behaves like a start of a new Python, so other tests may use it."""

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.warm import COMMAND, ROOT, WarmPopen

STARTS = [subprocess.Popen, WarmPopen]


def started(start: type[subprocess.Popen[Any]], *words: str, **options: Any) -> subprocess.Popen[Any]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_RUNTIME_DIR": ""}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return start([*COMMAND, *words], env=environment, text=True, **pipes, **options)


@pytest.mark.parametrize(
    "words", [("--version",), ("audience", "check", "people.csv", "--json"), ("nothing",)]
)
def test_both_write_the_same_and_end_with_the_same_code(tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "people.csv").write_text("phone\n+5511980000001\n")
    ended = []
    for start in STARTS:
        process = started(start, *words, cwd=tmp_path)
        ended.append((*process.communicate(timeout=60), process.returncode))
    assert ended[0] == ended[1]


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)]
)
@pytest.mark.parametrize("start", STARTS)
def test_a_signal_ends_both(start: type[subprocess.Popen[Any]], number: int, code: int) -> None:
    process = started(start, "emulator", "serve", "--port", "0")
    assert process.stdout is not None
    assert "listening" in process.stdout.readline()
    assert psutil.Process(process.pid).ppid() == os.getpid()
    process.send_signal(number)
    assert (process.communicate(timeout=60)[0], process.returncode) == ("", code)


def test_an_unusual_start_is_that_of_a_new_python() -> None:
    """Here one whose environment Python reads before its first line."""
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    words = [*COMMAND, "emulator", "serve", "--port", "0"]
    with WarmPopen(words, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        started = process.stdout.readline()
        found = psutil.Process(process.pid).cmdline()
        process.terminate()
    assert "listening" in started
    assert found == words
