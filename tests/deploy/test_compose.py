"""deploy/compose.yaml: it is valid, and a campaign goes through its services.

The services run as processes, confined as their containers would be: see `confinement.py` for what that enforces.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import write_audience
from tests.cli.processes import until
from tests.deploy.compose import COMPOSE, ROOT, read_secrets, read_services
from tests.deploy.confinement import can_confine, missing_tools, network
from tests.deploy.stack import Stack

PEOPLE = 1_500
NUMBERS = ("--number", "106540352242922", "--number", "106540352242923")
TERMINATED = 128 + signal.SIGTERM
SIGN_IN = """
python - <<END
import http.client
console = http.client.HTTPConnection("127.0.0.1", 8082)
form = {"Origin": "http://127.0.0.1:8082", "Content-Type": "application/x-www-form-urlencoded"}
console.request("POST", "/sign-in", "name=admin&password=trial-password", form)
print(console.getresponse().status)
END
touch /var/lib/drumbeat/uploads
"""


def test_the_file_follows_the_schema_of_compose_files() -> None:
    checker = Path(sys.executable).with_name("check-jsonschema")
    words = [checker, "--builtin-schema", "vendor.compose-spec", COMPOSE]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", read_services({}))
def test_every_service_is_confined(name: str) -> None:
    given = read_services({})[name].given
    assert given["read_only"] is True
    assert given["cap_drop"] == ["ALL"]
    assert given["security_opt"] == ["no-new-privileges:true"]
    assert read_services({})[name].user != 0


@pytest.mark.parametrize("name", read_services({}))
def test_no_log_fills_the_disk(name: str) -> None:
    options = read_services({})[name].given["logging"]["options"]
    assert {"max-size", "max-file"} <= options.keys()


def test_alerts_reach_a_manager_and_no_directory_is_open_to_everybody() -> None:
    assert "alertmanager" in read_services({})
    assert "names: [alertmanager]" in (COMPOSE.parent / "prometheus/prometheus.yml").read_text()
    assert "a+rwx" not in (ROOT / "docs/operate/containers.md").read_text()


@pytest.mark.parametrize("name", read_services({}))
def test_no_secret_stands_in_an_environment(name: str) -> None:
    secrets = {path.read_text().strip() for path in read_secrets().values()}
    service = read_services({})[name]
    assert not secrets & {*service.environment.values(), *service.command}
    assert read_secrets().keys() >= set(service.given.get("secrets", []))


@pytest.fixture
def stack() -> Iterator[Stack]:
    if not can_confine:
        pytest.skip(f"takes root and {', '.join(missing_tools) or 'nothing more'}")
    with tempfile.TemporaryDirectory(prefix="stack-", dir="/tmp") as name:
        directory = Path(name)
        directory.chmod(0o711)
        with network(directory) as made:
            stack = Stack(directory, made)
            try:
                yield stack
            finally:
                stack.close()


def drumbeat(stack: Stack, *words: str) -> str:
    done = stack.run("drumbeat", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.long
def test_a_campaign_goes_through_the_services(stack: Stack) -> None:
    write_audience(stack.directory / "data" / "people.csv", PEOPLE)
    stack.up()
    written = stack.run_shell("drumbeat", "id -u; ls /run/secrets; touch /tmp/x /opt/drumbeat/x /etc/x /x")
    assert written.stdout.split() == ["10001", "access_token", "app_secret", "database_url", "verify_token"]
    assert written.stderr.count("Read-only file system") == 3, written.stderr

    template = ("--template", "order_shipped", "--language", "en_US", "--param", "name", "--param", "order")
    drumbeat(stack, "campaign", "create", "spring", "--audience", "people.csv", *template, *NUMBERS)
    drumbeat(stack, "campaign", "start", "spring")
    until(lambda: accepted(stack) > PEOPLE // 10, "it sends")
    for name in ("receiver", "emulator", "console", "worker-1", "worker-2"):
        assert stack.is_healthy(name), stack.log(name)
    signed_in = stack.run_shell("console", SIGN_IN)
    assert (signed_in.stdout, signed_in.stderr) == ("303\n", "")
    stack.kill("worker-1")
    until(lambda: is_settled(stack), "the other worker sends to all others, and their statuses arrive")

    ledger = json.loads(stack.fetch("http://emulator:8081/_emulator/ledger?limit=10000"))["messages"]
    recipients = [message["to"] for message in ledger]
    assert len(recipients) == len(set(recipients))
    unknown = status(stack)["counts"]["unknown"]
    assert len(recipients) + unknown >= PEOPLE

    grace_s = float(stack.services["worker"].given["stop_grace_period"].removesuffix("s"))
    stack.main_process("worker-2").terminate()
    assert stack.processes["worker-2"].wait(grace_s) == TERMINATED, stack.log("worker-2")


def accepted(stack: Stack) -> int:
    return int(json.loads(stack.fetch("http://emulator:8081/_emulator/ledger/summary"))["accepted"])


def status(stack: Stack) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = json.loads(drumbeat(stack, "campaign", "status", "spring", "--json"))
    return found


def is_settled(stack: Stack) -> bool:
    counts = status(stack)["counts"]
    return not (counts["pending"] or counts["deferred"] or counts["accepted"] or counts["sent"])
