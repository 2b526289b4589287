"""Carries out a plan of faults against an installation."""

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

import aiohttp
import psutil

from engine.process.embedded_postgres import start_embedded
from engine.store.database import COMMAND_TIMEOUT_S
from tests.chaos import store
from tests.chaos.installation import LOOK_PERIOD_S, NUMBER, SECRET, WORKERS, Installation, stop_at_once
from tests.chaos.operator import Operator
from tests.chaos.processes import Running
from tests.chaos.schedule import MENDED, PASSING, Plan, Planned, Strike

SENDING_S_MAX = 60.0  # until the first message of a campaign
HALF_OPEN_S_MAX = COMMAND_TIMEOUT_S + 15.0  # in which who waits for an answer gives up by itself
LISTENING_S_MAX = 30.0  # until the receiver takes forged events
FORGED_MESSAGES = 20
# What the service does to a share of the requests. Replies of 400 bytes take half a second in slow bytes.
SERVICE_FAULTS: dict[Strike, dict[str, object]] = {
    Strike.STORM_THROTTLES: {"kind": "throttle-storm"},
    Strike.SLOW_BYTES: {"kind": "slow-bytes", "chunk_bytes": 16, "pause_ms": 20},
    Strike.EARLY_EVENTS: {"kind": "latency", "median_ms": 600},
}


class Striker:
    """For one campaign, whose ledger begins at `ledger_from`. `owner_lost_at_s`: wall times."""

    def __init__(self, installation: Installation, operator: Operator, ledger_from: int) -> None:
        self._installation = installation
        self._operator = operator
        self._ledger_from = ledger_from
        self.owner_lost_at_s: list[float] = []

    async def strike_all(self, plan: Plan) -> None:
        """Every strike at its moment, counted from the first message; one that lasts delays no other."""
        await self._until_sending()
        began_s = time.monotonic()
        async with asyncio.TaskGroup() as strikes:
            for planned in plan.strikes:
                await asyncio.sleep(max(0.0, began_s + planned.at_s - time.monotonic()))
                strikes.create_task(self._strike(planned))

    async def _until_sending(self) -> None:
        deadline_s = time.monotonic() + SENDING_S_MAX
        while time.monotonic() < deadline_s:
            if await self._installation.service.length() > self._ledger_from:
                return
            await asyncio.sleep(LOOK_PERIOD_S)

    async def _strike(self, planned: Planned) -> None:
        ways: dict[Callable[[Planned], Awaitable[None]], tuple[Strike, ...]] = {
            self._strike_worker: (Strike.KILL_OWNER, Strike.KILL_STANDBY, Strike.FREEZE_OWNER),
            self._strike_receiver: (Strike.KILL_RECEIVER, Strike.HOLD_RECEIVER_DOWN),
            self._forge_events: (Strike.FORGE_EVENTS,),
            self._stop_database: (Strike.STOP_DATABASE,),
            self._end_connections: (Strike.END_CONNECTIONS,),
            self._block_outcomes: (Strike.BLOCK_OUTCOMES,),
            self._fill_disk: (Strike.FILL_DISK, Strike.FILL_DISK_AND_KILL),
            self._half_open: (Strike.HALF_OPEN_OWNER, Strike.HALF_OPEN_ALL),
            self._trouble_service: PASSING,
            self._operator.trouble: MENDED,
        }
        way = next((way for way, strikes in ways.items() if planned.strike in strikes), self._strike_network)
        await way(planned)

    async def _owner(self) -> tuple[Running, Running]:
        """The worker that holds the number, and the other one."""
        connection = await self._installation.connect()
        pid = await store.owner_pid(connection, NUMBER)
        await connection.close()
        first, second = (self._installation.processes[name] for name in WORKERS)
        return (second, first) if second.pid == pid else (first, second)

    async def _strike_worker(self, planned: Planned) -> None:
        owner, standby = await self._owner()
        if planned.strike is Strike.KILL_STANDBY:
            standby.kill()
            return
        self.owner_lost_at_s.append(time.time())
        if planned.strike is Strike.KILL_OWNER:
            owner.kill()
            return
        owner.signal(signal.SIGSTOP)
        await asyncio.sleep(planned.lasts_s)
        owner.signal(signal.SIGCONT)

    async def _strike_receiver(self, planned: Planned) -> None:
        """Killed, and started again at once or after a while."""
        self._installation.held_down.add("receiver")
        self._installation.processes["receiver"].kill()
        await asyncio.sleep(planned.lasts_s)
        self._installation.held_down.discard("receiver")

    async def _trouble_service(self, planned: Planned) -> None:
        fault = SERVICE_FAULTS[planned.strike]
        await self._installation.service.trouble(fault, planned.share, planned.lasts_s)
        await asyncio.sleep(planned.lasts_s)

    async def _forge_events(self, _planned: Planned) -> None:
        """Against messages that were accepted, whose own events are on their way; once the receiver listens."""
        service, callback = self._installation.service, self._installation.callback
        messages = (await service.ledger(self._ledger_from))[-FORGED_MESSAGES:]
        deadline_s = time.monotonic() + LISTENING_S_MAX
        while time.monotonic() < deadline_s:
            with suppress(OSError, aiohttp.ClientError):  # it may be down for another fault
                self._installation.unexpected += await service.forge_events(callback, messages, SECRET)
                return
            await asyncio.sleep(LOOK_PERIOD_S)
        self._installation.unexpected.append(f"the receiver did not listen within {LISTENING_S_MAX:.0f} s")

    async def _stop_database(self, planned: Planned) -> None:
        await asyncio.to_thread(stop_at_once, self._installation.home)
        await asyncio.sleep(planned.lasts_s)
        await asyncio.to_thread(start_embedded, self._installation.home)

    async def _end_connections(self, planned: Planned) -> None:
        until_s = time.monotonic() + planned.lasts_s
        while time.monotonic() < until_s:
            connection = await self._installation.connect()
            await connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name = 'drumbeat' AND pid <> pg_backend_pid() AND random() < 0.5"
            )
            await connection.close()
            await asyncio.sleep(0.1)

    async def _block_outcomes(self, planned: Planned) -> None:
        """As a lock of maintenance or a full table does: claims are stored, outcomes are not."""
        connection = await self._installation.connect()
        async with connection.transaction():
            await connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            await connection.execute("LOCK TABLE outcomes IN SHARE ROW EXCLUSIVE MODE")
            await asyncio.sleep(planned.lasts_s)
            await self._strike_worker(Planned(0.0, Strike.KILL_OWNER))
        await connection.close()

    async def _fill_disk(self, planned: Planned) -> None:
        """Until nothing more is accepted; then room is made, and the server started where it gave up."""
        assert self._installation.disk is not None, "this installation has no small disk"
        await asyncio.to_thread(self._installation.disk.fill)
        try:
            if planned.strike is Strike.FILL_DISK_AND_KILL:
                await asyncio.sleep(planned.lasts_s / 10)  # while it finds out that nothing can be stored
                self.owner_lost_at_s.append(time.time())
                self._sender().kill()
            await self._until_quiet(planned.lasts_s)
        finally:
            self._installation.disk.free()
            await asyncio.to_thread(start_embedded, self._installation.home)

    def _sender(self) -> Running:
        """The owner, where the database may not answer: who sends holds the lanes to the service."""
        port = self._installation.service.port
        workers = [self._installation.processes[name] for name in WORKERS]
        return max(workers, key=lambda one: len(_ports_to(one.pid, port)))

    async def _until_quiet(self, quiet_s: float) -> None:
        """Until nothing was accepted for so long."""
        service = self._installation.service
        deadline_s = time.monotonic() + SENDING_S_MAX
        length, since_s = await service.length(), time.monotonic()
        while time.monotonic() < min(deadline_s, since_s + quiet_s):
            await asyncio.sleep(LOOK_PERIOD_S)
            if (now := await service.length()) != length:
                length, since_s = now, time.monotonic()

    async def _half_open(self, planned: Planned) -> None:
        proxy = self._installation.proxy
        if planned.strike is Strike.HALF_OPEN_ALL:
            proxy.vanish()
        else:
            owner, _ = await self._owner()
            proxy.vanish(_ports_to(owner.pid, proxy.port))
        until_s = time.monotonic() + (planned.lasts_s or HALF_OPEN_S_MAX)
        while proxy.half_open and time.monotonic() < until_s:
            await asyncio.sleep(LOOK_PERIOD_S)
        proxy.reset(proxy.half_open)  # whoever forgot them answers again; some may rest unused in a pool

    async def _strike_network(self, planned: Planned) -> None:
        match planned.strike:
            case Strike.RESET_CONNECTIONS:
                self._installation.proxy.reset()
            case Strike.STALL_CONNECTIONS:
                self._installation.proxy.stall()
            case Strike.DELAY_CONNECTIONS:
                self._installation.proxy.delay_s = 0.1
            case Strike.LOSE_ANSWERS:
                self._installation.proxy.answers_lost = True
            case Strike.CUT_CONNECTIONS:
                self._installation.proxy.cut_after = 100_000
                self._installation.proxy.reset()
        await asyncio.sleep(planned.lasts_s)
        if planned.strike is Strike.LOSE_ANSWERS:
            self._installation.proxy.reset()
        self._installation.proxy.flow()


def _ports_to(pid: int, port: int) -> list[int]:
    """The local ports of a process's connections to a port."""
    peers = psutil.Process(pid).net_connections("tcp")
    return [one.laddr.port for one in peers if one.raddr and one.raddr.port == port]
