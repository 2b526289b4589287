"""deploy/systemd: systemd accepts every unit, and finds the services well confined."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.deploy.compose import DEPLOY

UNITS = DEPLOY / "systemd"
EXPOSURE_MAX = 3.0
# A template is checked as one of its instances.
INSTANCES = {"drumbeat-worker@": "drumbeat-worker@1", "drumbeat-campaign@": "drumbeat-campaign@orders"}
NAMES = sorted(path.name for path in UNITS.iterdir() if path.suffix in {".service", ".timer", ".target"})
SERVICES = [name for name in NAMES if name.endswith(".service")]

pytestmark = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd here")


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The units as they are installed, with the command at the place where it is here."""
    shutil.copytree(UNITS, tmp_path, dirs_exist_ok=True)
    command = str(Path(sys.executable).with_name("drumbeat"))
    for path in tmp_path.glob("*.service"):
        path.write_text(path.read_text().replace("/opt/drumbeat/bin/drumbeat", command))
    return tmp_path


def analyze(installed: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "SYSTEMD_UNIT_PATH": f"{installed}:"}
    return subprocess.run(
        ["systemd-analyze", *words], env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("name", NAMES)
def test_systemd_accepts_the_unit(installed: Path, name: str) -> None:
    stem, _, kind = name.rpartition(".")
    done = analyze(installed, "verify", "--man=no", f"{INSTANCES.get(stem, stem)}.{kind}")
    complaints = [line for line in done.stderr.splitlines() if "drumbeat" in line]
    assert (done.returncode, complaints) == (0, [])


@pytest.mark.parametrize("name", SERVICES)
def test_the_service_is_confined(installed: Path, name: str) -> None:
    done = analyze(installed, "security", "--offline=true", "--no-pager", name)
    found = re.search(r"Overall exposure level for \S+: ([\d.]+)", done.stdout)
    assert found is not None, done.stderr
    assert float(found[1]) < EXPOSURE_MAX, done.stdout


@pytest.mark.parametrize(
    "name", ["drumbeat-worker@.service", "drumbeat-receiver.service", "drumbeat-console.service"]
)
def test_no_restart_follows_an_error_that_it_cannot_mend(name: str) -> None:
    assert "RestartPreventExitStatus=2 77 78\n" in (UNITS / name).read_text()


@pytest.mark.parametrize(
    "name", ["drumbeat-worker@.service", "drumbeat-receiver.service", "drumbeat-console.service"]
)
def test_what_runs_for_long_tells_that_it_works(name: str) -> None:
    lines = (UNITS / name).read_text().splitlines()
    assert {"Type=notify", "WatchdogSec=60"} <= set(lines)


def test_a_worker_starts_after_the_first_sync() -> None:
    text = (UNITS / "drumbeat-worker@.service").read_text()
    assert re.search(r"^Wants=.*drumbeat-sync\.service", text, re.MULTILINE)
    assert re.search(r"^After=.*drumbeat-sync\.service", text, re.MULTILINE)
