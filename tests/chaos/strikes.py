"""Carries out a plan of faults against an installation."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

import aiohttp

from tests.chaos.database_strikes import DatabaseStrikes
from tests.chaos.installation import POLL_PERIOD_S, SECRET, Installation
from tests.chaos.network_strikes import NetworkStrikes
from tests.chaos.operator import Operator
from tests.chaos.schedule import MENDED, PASSING, Plan, Planned, Strike
from tests.chaos.worker_strikes import WorkerStrikes

SENDING_S_MAX = 60.0  # until the first message of a campaign
LISTENING_S_MAX = 30.0  # until the receiver takes forged events
FORGED_MESSAGES = 20
# What the service does to a share of the requests. Replies of 400 bytes take half a second in slow bytes.
SERVICE_FAULTS: dict[Strike, dict[str, object]] = {
    Strike.STORM_THROTTLES: {"kind": "throttle-storm"},
    Strike.SLOW_BYTES: {"kind": "slow-bytes", "chunk_bytes": 16, "pause_ms": 20},
    Strike.EARLY_EVENTS: {"kind": "latency", "median_ms": 600},
}


class Striker:
    """For one campaign, whose ledger begins at `ledger_from`."""

    def __init__(self, installation: Installation, operator: Operator, ledger_from: int) -> None:
        self._installation = installation
        self._operator = operator
        self._ledger_from = ledger_from
        self.workers = WorkerStrikes(installation)
        self._database = DatabaseStrikes(installation, self.workers)
        self._network = NetworkStrikes(installation, self.workers)

    async def strike_all(self, plan: Plan) -> None:
        """Every strike at its moment, counted from the first message. A strike that lasts delays no other."""
        await self._until_sending()
        began_s = time.monotonic()
        async with asyncio.TaskGroup() as strikes:
            for planned in plan.strikes:
                await asyncio.sleep(max(0.0, began_s + planned.at_s - time.monotonic()))
                strikes.create_task(self._strike(planned))

    async def _until_sending(self) -> None:
        deadline_s = time.monotonic() + SENDING_S_MAX
        while time.monotonic() < deadline_s:
            if await self._installation.service.ledger.length() > self._ledger_from:
                return
            await asyncio.sleep(POLL_PERIOD_S)

    async def _strike(self, planned: Planned) -> None:
        ways: dict[Callable[[Planned], Awaitable[None]], tuple[Strike, ...]] = {
            self.workers.strike: (Strike.KILL_OWNER, Strike.KILL_STANDBY, Strike.FREEZE_OWNER),
            self._strike_receiver: (Strike.KILL_RECEIVER, Strike.HOLD_RECEIVER_DOWN),
            self._forge_events: (Strike.FORGE_EVENTS,),
            self._database.stop_database: (Strike.STOP_DATABASE,),
            self._database.end_connections: (Strike.END_CONNECTIONS,),
            self._database.block_outcomes: (Strike.BLOCK_OUTCOMES,),
            self._database.fill_disk: (Strike.FILL_DISK, Strike.FILL_DISK_AND_KILL),
            self._network.half_open: (Strike.HALF_OPEN_OWNER, Strike.HALF_OPEN_ALL),
            self._start_service_fault: PASSING,
            self._operator.break_and_wait: MENDED,
        }
        way = next((way for way, strikes in ways.items() if planned.strike in strikes), self._network.strike)
        await way(planned)

    async def _strike_receiver(self, planned: Planned) -> None:
        """Killed, and started again at once or after a while."""
        self._installation.held_down.add("receiver")
        self._installation.processes["receiver"].kill()
        await asyncio.sleep(planned.lasts_s)
        self._installation.held_down.discard("receiver")

    async def _start_service_fault(self, planned: Planned) -> None:
        fault = SERVICE_FAULTS[planned.strike]
        await self._installation.service.start_fault(fault, planned.share, planned.lasts_s)
        await asyncio.sleep(planned.lasts_s)

    async def _forge_events(self, _planned: Planned) -> None:
        """Forge events of accepted messages whose own events are on their way, once the receiver listens."""
        service, callback = self._installation.service, self._installation.callback
        messages = (await service.ledger.since(self._ledger_from))[-FORGED_MESSAGES:]
        deadline_s = time.monotonic() + LISTENING_S_MAX
        while time.monotonic() < deadline_s:
            with suppress(OSError, aiohttp.ClientError):  # another fault may have stopped it
                self._installation.unexpected += await service.forge_events(callback, messages, SECRET)
                return
            await asyncio.sleep(POLL_PERIOD_S)
        self._installation.unexpected.append(f"the receiver did not listen within {LISTENING_S_MAX:.0f} s")
