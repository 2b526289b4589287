"""mypy --strict and pyright take what the pages show, and refuse each mistake."""

import re
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from tests.warm import ROOT

PROGRAMS = Path(__file__).parent / "typed"
WRONG = {
    number
    for number, line in enumerate((PROGRAMS / "wrong.py").read_text("utf-8").splitlines(), 1)
    if "# wrong:" in line
}
RIGHT = ("right.py", "fixtures.py")


def mypy(name: str) -> set[int]:
    """The lines that mypy refuses."""
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--follow-imports=silent"]
    done = subprocess.run(
        [*command, str(PROGRAMS / name)], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return {int(found[1]) for found in re.finditer(rf"{name}:(\d+): error", done.stdout)}


def pyright(name: str) -> set[int]:
    """The lines that pyright's rules refuse."""
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--level", "error"]
    done = subprocess.run(
        [*command, "--project", str(PROGRAMS), str(PROGRAMS / name)],
        cwd=ROOT, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    found = orjson.loads(done.stdout)
    assert found["summary"]["filesAnalyzed"] == 1, done.stdout
    return {each["range"]["start"]["line"] + 1 for each in found["generalDiagnostics"]}


@pytest.mark.parametrize("refused", [mypy, pyright])
def test_what_is_right_is_taken_and_each_mistake_refused(refused: object) -> None:
    assert callable(refused)
    for name in RIGHT:
        assert refused(name) == set()
    assert refused("wrong.py") == WRONG
