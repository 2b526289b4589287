"""A rolling upgrade while a campaign is sent, and the way back: processes of two versions over one database.

Each process is started as its manifest does it: the next one is ready before the former one is asked to stop.
"""

import asyncio
import select
import shutil
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import orjson
import pytest
import yaml

from tests.acceptance.conftest import Scene
from tests.cli.conftest import write_audience
from tests.cli.processes import ACCOUNT, SECRET, TOKEN, VERIFY, Drumbeat, Service, serving, until
from tests.warm import ROOT

pytestmark = pytest.mark.long

NUMBERS = ("1", "2", "3")  # one for each worker
PEOPLE = 60_000
RATE_PER_S = 500  # so slow that all processes are replaced meanwhile
START_S_MAX = 60.0
LOOK_S = 0.2
NEXT = "0002_made_up"
NEXT_SQL = """
ALTER TABLE recipients ADD COLUMN made_up integer;
ALTER TABLE outcomes ADD COLUMN made_up integer NOT NULL DEFAULT 1;
ALTER TABLE pending_attempts ADD COLUMN made_up integer;
ALTER TABLE ranges ADD COLUMN made_up integer;
ALTER TABLE range_counters ADD COLUMN made_up integer;
ALTER TABLE numbers ADD COLUMN made_up integer;
ALTER TABLE campaigns ADD COLUMN made_up integer;
ALTER TABLE campaign_numbers ADD COLUMN made_up integer;
ALTER TABLE inbox_groups ADD COLUMN made_up integer;
ALTER TABLE sending_processes ADD COLUMN made_up integer;
CREATE INDEX campaigns_made_up ON campaigns (created_at);
"""
WORKER = ("worker",)
RECEIVER = ("webhooks", "serve", "--port", "0")
CONSOLE = ("console", "serve", "--port", "0", "--no-metrics")


def next_version(folder: Path, sql: str = NEXT_SQL) -> Path:
    """A package as the present one, with one more version of the schema."""
    package = folder / "drumbeat"
    package.mkdir(parents=True)
    for each in (ROOT / ".src" / "drumbeat").iterdir():
        if each.name != "engine":
            (package / each.name).symlink_to(each.resolve())
    shutil.copytree(ROOT / "engine", package / "engine", ignore=shutil.ignore_patterns("__pycache__"))
    version = package / "engine" / "store" / "sql" / "schema" / NEXT
    version.mkdir()
    (version / "01_made_up.sql").write_text(sql)
    return folder


class Address:
    """The one address of a service: each new connection is led to the process that is ready now, as in a cluster."""

    def __init__(self) -> None:
        self.target = 0  # a port
        self.port = 0
        self._loop = asyncio.new_event_loop()
        self._listening = threading.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._listen(),))
        self._stop = asyncio.Event()
        self._thread.start()
        self._listening.wait()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        self._loop.close()

    async def _listen(self) -> None:
        listener = await asyncio.start_server(self._lead, "127.0.0.1", 0)
        self.port = listener.sockets[0].getsockname()[1]
        self._listening.set()
        await self._stop.wait()
        listener.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    async def _lead(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            inner, outer = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.close()
            return
        await asyncio.gather(_copy(reader, outer), _copy(inner, writer))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while chunk := await reader.read(65_536):
            writer.write(chunk)
            await writer.drain()
    writer.close()


@dataclass(slots=True)
class Health:
    """Asks an address again and again, and keeps the longest time in seconds without an answer of 200."""

    url: str
    longest_s: float = 0.0
    asked: int = 0
    _ended: threading.Event = field(default_factory=threading.Event)

    def watch(self) -> None:
        good_s = time.monotonic()
        while not self._ended.wait(LOOK_S):
            if self._is_good():
                good_s = time.monotonic()
            self.asked += 1
            self.longest_s = max(self.longest_s, time.monotonic() - good_s)

    def _is_good(self) -> bool:
        try:
            with urllib.request.urlopen(self.url, timeout=5) as reply:
                return int(reply.status) == 200
        except OSError:
            return False

    @contextmanager
    def watching(self) -> Iterator[None]:
        thread = threading.Thread(target=self.watch)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()


def unready_s_max(name: str) -> float:
    """The seconds after which the manifest's health check takes a pod out."""
    documents = yaml.safe_load_all((ROOT / "deploy/kubernetes/base" / f"{name}.yaml").read_text("utf-8"))
    deployment = next(each for each in documents if each["kind"] == "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    probe = container["readinessProbe"]
    return float(probe["periodSeconds"] * probe.get("failureThreshold", 3))


class Fleet:
    """The processes that run, with the addresses of receiver and console."""

    def __init__(self, logs: Path) -> None:
        self._logs = logs
        self._count = 0
        self.workers: list[subprocess.Popen[str]] = []
        self.listeners: dict[tuple[str, ...], subprocess.Popen[str]] = {}
        self.addresses = {RECEIVER: Address(), CONSOLE: Address()}

    def _log(self) -> Path:
        self._count += 1
        return self._logs / f"process-{self._count}.log"

    def add_worker(self, version: Drumbeat) -> None:
        log = self._log()
        self.workers.append(version.start(*WORKER, log=log))
        until(lambda: "metrics_served" in log.read_text(), f"it works: {log}")

    def replace_worker(self, version: Drumbeat) -> None:
        self.add_worker(version)
        stop(self.workers.pop(0))

    def replace_listener(self, version: Drumbeat, words: tuple[str, ...]) -> None:
        process = version.start(*words, log=self._log())
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], START_S_MAX)
        assert ready, words
        url = orjson.loads(process.stdout.readline())["url"]
        self.addresses[words].target = int(url.split(":")[2].split("/")[0])
        former, self.listeners[words] = self.listeners.get(words), process
        if former is not None:
            stop(former)

    def replace_all(self, version: Drumbeat) -> None:
        for _ in NUMBERS:
            self.replace_worker(version)
        for words in self.addresses:
            self.replace_listener(version, words)

    def close(self) -> None:
        for process in (*self.workers, *self.listeners.values()):
            stop(process)
        for address in self.addresses.values():
            address.close()


def stop(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 143


def limit(drumbeat: Drumbeat, per_s: int) -> None:
    for number in NUMBERS:
        drumbeat.ok("numbers", "limit", number, str(per_s // len(NUMBERS)))


def status(drumbeat: Drumbeat) -> dict[str, object]:
    found: dict[str, object] = drumbeat.ok("campaign", "status", "spring", "--json").json
    return found


def settings_of(place: Path, database_url: str) -> dict[str, str]:
    return {
        "home": str(place / "home"),
        "database_url": database_url,
        "access_token": TOKEN,
        "app_secret": SECRET,
        "verify_token": VERIFY,
        "waba_id": ACCOUNT,
    }


def plan(drumbeat: Drumbeat) -> None:
    drumbeat.ok("numbers", "sync")
    drumbeat.ok("templates", "sync")
    limit(drumbeat, RATE_PER_S)
    audience = write_audience(drumbeat.directory / "people.csv", PEOPLE)
    template = ("--template", "order_shipped", "--language", "pt_BR", "--param", "name", "--param", "order")
    numbers = [word for number in NUMBERS for word in ("--number", number)]
    drumbeat.ok("campaign", "create", "spring", *template, "--audience", audience, *numbers)
    drumbeat.ok("campaign", "start", "spring")


def test_a_rolling_upgrade_and_the_way_back_send_to_everybody_once(tmp_path: Path, database_url: str) -> None:
    settings = settings_of(tmp_path, database_url)
    former = Drumbeat(tmp_path, settings)
    later = Drumbeat(tmp_path, settings, cold=True, source=next_version(tmp_path / "next"))
    fleet = Fleet(tmp_path)
    callback = f"{fleet.addresses[RECEIVER].url}/webhook"
    emulated = [word for number in NUMBERS for word in ("--number", f"{number}:2000")]
    command = ("emulator", "serve", "--port", "0", "--status-delay", "0", *emulated, "--callback", callback)
    try:
        with serving(former, *command) as url:
            settings["base_url"] = url
            service = Service(url)
            plan(former)
            for _ in NUMBERS:
                fleet.add_worker(former)
            for words in fleet.addresses:
                fleet.replace_listener(former, words)
            until(lambda: service.accepted() > 2 * RATE_PER_S, "it is sent")
            health = {
                "receiver": Health(f"{fleet.addresses[RECEIVER].url}/readyz"),
                "console": Health(f"{fleet.addresses[CONSOLE].url}/campaigns"),
            }
            with health["receiver"].watching(), health["console"].watching():
                assert later.ok("db", "migrate").stdout.split() == NEXT.split("_", 1)
                before, before_s = service.accepted(), time.monotonic()
                fleet.replace_all(later)
                fleet.replace_all(former)
                achieved_per_s = (service.accepted() - before) / (time.monotonic() - before_s)
            assert service.accepted() < PEOPLE, "all of this happened while it was sent"
            limit(former, 3_000)
            until(lambda: status(former)["state"] == "finished", "it has ended")
            until(lambda: not service.get("events/summary")["pending"], "all events came")
            counts = status(former)["counts"]
            got = service.recipients()
    finally:
        fleet.close()
        later.close()
        former.close()
    assert len(got) == len(set(got)) == PEOPLE
    assert isinstance(counts, dict)
    assert sum(counts.values()) == PEOPLE
    assert counts["pending"] == counts["deferred"] == counts["unknown"] == 0
    for name, seen in health.items():
        assert seen.asked > 10
        assert seen.longest_s < unready_s_max(name), (name, seen)
    assert achieved_per_s > 0.7 * RATE_PER_S, achieved_per_s
    print(f"{achieved_per_s:.0f}/s;", {name: f"{seen.longest_s:.1f} s" for name, seen in health.items()})  # noqa: T201


def test_a_removal_beside_a_former_process_is_refused_with_its_name(scene: Scene, tmp_path: Path) -> None:
    former = scene.drumbeat
    removal = next_version(tmp_path / "next", f"-- requires 0002\n{NEXT_SQL}")
    later = Drumbeat(former.directory, former.settings, cold=True, source=removal)
    log = tmp_path / "worker.log"
    worker = former.start(*WORKER, log=log)
    until(lambda: "number_taken" in log.read_text(), "it works")
    try:
        refused = later("db", "migrate")
        assert refused.exit_code == 75
        assert f", process {worker.pid} (schema 0001)" in refused.complaint
        assert worker.poll() is None
        waiting = later("db", "wait", "--within", "0")
        assert (waiting.exit_code, "was not brought to this version yet" in waiting.complaint) == (75, True)
    finally:
        later.close()


def test_after_a_removal_former_programs_are_refused(tmp_path: Path, database_url: str) -> None:
    removal = next_version(tmp_path / "next", f"-- requires 0002\n{NEXT_SQL}")
    settings = settings_of(tmp_path, database_url)
    drumbeat = Drumbeat(tmp_path, settings)
    later = Drumbeat(tmp_path, settings, cold=True, source=removal)
    try:
        later.ok("db", "migrate")
        later.ok("db", "wait", "--within", "0")
    finally:
        later.close()
    for words in (("campaign", "list"), ("worker",), RECEIVER, CONSOLE):
        refused = drumbeat(*words)
        assert (refused.exit_code, "needs a version of Drumbeat" in refused.complaint) == (78, True), words
