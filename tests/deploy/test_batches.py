"""The scripts that start a campaign by time: of cron, of systemd, of Kubernetes. Each one sends, and can be repeated."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.cli.processes import Drumbeat, Service, serving
from tests.deploy.compose import DEPLOY
from tests.docs.test_links import KNOWN_SETTINGS

NUMBER = "106540352242922"
PEOPLE = 3
COMMANDS = Path(sys.executable).parent
CRONTAB = (DEPLOY / "cron/crontab.example").read_text("utf-8")


def lines_of_cron() -> list[str]:
    """What cron gives to the shell: the sixth field, a percent sign without its backslash."""
    entries = [line for line in CRONTAB.splitlines() if re.match(r"[\d*]", line)]
    return [entry.split(maxsplit=5)[5].replace(r"\%", "%") for entry in entries]


def script_of_kubernetes() -> str:
    found = next(yaml.safe_load_all((DEPLOY / "kubernetes/base/campaign.yaml").read_text("utf-8")))
    words = found["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]["command"]
    assert words[:2] == ["sh", "-ec"]
    return str(words[2])


SCRIPTS = {
    "cron": next(line for line in lines_of_cron() if "campaign run" in line),
    "systemd": (DEPLOY / "systemd/campaign.example").read_text("utf-8"),
    "kubernetes": script_of_kubernetes(),
}


@pytest.fixture
def emulated(drumbeat: Drumbeat) -> Iterator[Service]:
    options = ("--port", "0", "--number", f"{NUMBER}:1000", "--status-delay", "0")
    with serving(drumbeat, "emulator", "serve", *options) as url:
        drumbeat.settings["base_url"] = url
        drumbeat.ok("numbers", "sync")
        drumbeat.ok("templates", "sync")
        rows = "".join(f"+1415555010{person},Ada,A-{person}\n" for person in range(PEOPLE))
        (drumbeat.directory / "customers.csv").write_text(f"phone,first_name,order\n{rows}")
        manifest = (DEPLOY / "orders.toml").read_text().replace("/var/lib/drumbeat", str(drumbeat.directory))
        (drumbeat.directory / "orders.toml").write_text(manifest)
        (drumbeat.directory / "opt-outs.csv").write_text("phone\n+14155550199\n")
        yield Service(url)


def shell(drumbeat: Drumbeat, script: str) -> subprocess.CompletedProcess[str]:
    settings = {f"DRUMBEAT_{name.upper()}": value for name, value in drumbeat.settings.items()}
    local = script.replace("/opt/drumbeat/bin", str(COMMANDS))
    for place in ("/var/lib/drumbeat", "/etc/drumbeat/campaigns"):
        local = local.replace(place, str(drumbeat.directory))
    local = local.replace("-d 17:00", "-d +1hour")  # of whatever day and hour it is
    return subprocess.run(
        ["sh", "-ec", local],
        env={"PATH": f"{COMMANDS}:{os.defpath}", "NUMBER": NUMBER, **settings},
        cwd=drumbeat.directory,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_campaign_is_sent_once_however_often_it_starts(
    drumbeat: Drumbeat, emulated: Service, name: str
) -> None:
    for _ in range(2):
        done = shell(drumbeat, SCRIPTS[name])
        assert done.returncode == 0, done.stderr
    assert len(set(emulated.recipients())) == len(emulated.recipients()) == PEOPLE


def test_every_line_of_the_crontab_runs(drumbeat: Drumbeat, emulated: Service) -> None:
    lines = lines_of_cron()
    assert len(lines) == 5
    for line in lines:
        done = shell(drumbeat, line.replace("-d yesterday ", ""))  # the export of a campaign of today
        assert done.returncode == 0, f"{line}: {done.stderr}"
    assert len(list(drumbeat.directory.glob("orders-*.csv"))) == 1


@pytest.mark.parametrize("name", ["cron/crontab.example", "systemd/settings.example", "compose.yaml"])
def test_every_setting_exists(name: str) -> None:
    named = set(re.findall(r"\bDRUMBEAT_\w+", (DEPLOY / name).read_text("utf-8")))
    assert named
    assert named <= KNOWN_SETTINGS
