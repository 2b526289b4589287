"""The readme's tables name tests that exist, and every code of the interface has a row."""

import re
from pathlib import Path

from drumbeat import emulator
from drumbeat.emulator.faults.table import EXCHANGE_KINDS, POST_KINDS, STATUS_KINDS

README = (Path(emulator.__file__).parent / "README.md").read_text()


def test_every_test_that_is_named_exists() -> None:
    sources = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    written = set(re.findall(r"def (test_\w+)", sources))
    named = set(re.findall(r"`(test_\w+)`", README))
    assert len(named) > 60
    assert named <= written


def test_every_kind_of_fault_and_its_options_are_named() -> None:
    faults = README.partition("Faults of a send")[2].partition("## How it counts")[0]
    for table in (EXCHANGE_KINDS, STATUS_KINDS, POST_KINDS):
        for name, kind in table.items():
            assert f"`{name}`" in faults
            for option in kind.options:
                assert re.search(rf"`{option}[`=]", faults), (name, option)


def test_every_code_of_the_interface_has_a_row() -> None:
    rows = [line for line in README.splitlines() if line.startswith("|")]
    for code in ("190", "131030", "131047", "132001", "132012", "130429", "131026", "131056"):
        assert any(line.startswith(f"| {code} |") for line in rows)
