"""Faults of the connections to the database, made by the proxy before it."""

import asyncio
import time

from drumbeat.engine.store.database import COMMAND_TIMEOUT_S
from tests.chaos.installation import POLL_PERIOD_S, Installation
from tests.chaos.schedule import Planned, Strike
from tests.chaos.worker_strikes import WorkerStrikes

HALF_OPEN_S_MAX = COMMAND_TIMEOUT_S + 15.0  # within it every client that waits for an answer gives up


class NetworkStrikes:
    def __init__(self, installation: Installation, workers: WorkerStrikes) -> None:
        self._proxy = installation.proxy
        self._workers = workers

    async def half_open(self, planned: Planned) -> None:
        if planned.strike is Strike.HALF_OPEN_ALL:
            self._proxy.vanish()
        else:
            self._proxy.vanish(await self._workers.owner_ports_to(self._proxy.port))
        until_s = time.monotonic() + (planned.lasts_s or HALF_OPEN_S_MAX)
        while self._proxy.half_open and time.monotonic() < until_s:
            await asyncio.sleep(POLL_PERIOD_S)
        self._proxy.reset(self._proxy.half_open)  # the router answers again; some may lie unused in a pool

    async def strike(self, planned: Planned) -> None:
        match planned.strike:
            case Strike.RESET_CONNECTIONS:
                self._proxy.reset()
            case Strike.STALL_CONNECTIONS:
                self._proxy.stall()
            case Strike.DELAY_CONNECTIONS:
                self._proxy.delay_s = 0.1
            case Strike.LOSE_ANSWERS:
                self._proxy.answers_lost = True
            case Strike.CUT_CONNECTIONS:
                self._proxy.cut_after = 100_000
                self._proxy.reset()
        await asyncio.sleep(planned.lasts_s)
        if planned.strike is Strike.LOSE_ANSWERS:
            self._proxy.reset()
        self._proxy.flow()
