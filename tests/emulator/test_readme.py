"""The readme's tables name tests that exist, and every code of the interface has a row."""

import re
from pathlib import Path

from drumbeat import emulator

README = (Path(emulator.__file__).parent / "README.md").read_text()


def test_every_test_that_is_named_exists() -> None:
    sources = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    written = set(re.findall(r"def (test_\w+)", sources))
    named = set(re.findall(r"`(test_\w+)`", README))
    assert len(named) > 60
    assert named <= written


def test_every_code_of_the_interface_has_a_row() -> None:
    rows = [line for line in README.splitlines() if line.startswith("|")]
    for code in ("190", "131030", "131047", "132001", "132012", "130429", "131026", "131056"):
        assert any(line.startswith(f"| {code} |") for line in rows)
