"""The doctor's finding about free disk space for the embedded database."""

from pathlib import Path

from drumbeat.campaigns.doctor.finding import worst_exit_code
from drumbeat.campaigns.doctor.machine import check_disk
from drumbeat.engine.process.settings import load_settings

EXBIBYTE_MIB = 2**40


def test_enough_free_space_is_reported_in_figures(tmp_path: Path) -> None:
    [finding] = check_disk(load_settings(home=tmp_path, least_free_mib=0))
    assert finding.level == "ok"
    assert finding.found.endswith(f" MiB free in {tmp_path}")


def test_too_little_free_space_is_try_later_with_a_remedy(tmp_path: Path) -> None:
    found = check_disk(load_settings(home=tmp_path, least_free_mib=EXBIBYTE_MIB))
    assert [finding.level for finding in found] == ["fail"]
    assert "DRUMBEAT_LEAST_FREE_MIB" in found[0].remedy
    assert worst_exit_code(found) == 75


def test_a_database_elsewhere_has_its_own_doctor(tmp_path: Path) -> None:
    assert check_disk(load_settings(home=tmp_path, database_url="postgresql://elsewhere/x")) == []
