"""The doctor's finding about the limit of file descriptors."""

from pathlib import Path

import pytest

from drumbeat.campaigns.doctor import machine
from drumbeat.engine.core.connection_limit import WANTED
from drumbeat.engine.process.settings import load_settings


@pytest.mark.parametrize(("limit", "level"), [(WANTED, "ok"), (WANTED - 1, "warn"), (4_096, "warn")])
def test_a_hard_limit_below_what_all_connections_need_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int, level: str
) -> None:
    monkeypatch.setattr(machine, "hard_limit", lambda: limit)
    [finding] = [
        finding
        for finding in machine.check_machine(load_settings(home=tmp_path))
        if finding.subject == "descriptors"
    ]
    assert finding.level == level
    assert f"{limit:,}" in finding.found
    assert ("LimitNOFILE" in finding.remedy) is (level == "warn")
