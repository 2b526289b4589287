"""The limits of memory in `deploy/`: what reads workbooks may read one of a million rows."""

import re

import pytest

from drumbeat.engine.core.memory_limit import reader_bytes
from tests.warm import ROOT

MILLION_ROWS_BYTES = 512 << 20  # measured: python-calamine 0.9, four columns with strings of their own
_UNITS = {"Mi": 20, "M": 20, "Gi": 30, "G": 30, "g": 30}


@pytest.mark.parametrize(
    "path",
    [
        "kubernetes/base/console.yaml",
        "kubernetes/base/commands.yaml",
        "kubernetes/base/campaign.yaml",
        "compose.yaml",
        "systemd/drumbeat-console.service",
        "systemd/drumbeat-campaign@.service",
    ],
)
def test_a_workbook_of_a_million_rows_fits(path: str) -> None:
    text = (ROOT / "deploy" / path).read_text("utf-8")
    if path == "compose.yaml":
        text = text[text.index("\n  console:") :].partition("\n\n")[0]
    limits = re.findall(r"(?:limits: \{memory: |MemoryMax=|mem_limit: )([0-9]+)(Mi|M|Gi|G|g)\b", text)
    # What only waits for the database, before a console starts, has a small limit of its own.
    assert max(reader_bytes(int(count) << _UNITS[unit]) for count, unit in limits) >= MILLION_ROWS_BYTES
