"""Carries out a plan of faults against an installation."""

import asyncio
import signal
import time
from contextlib import suppress

from engine.store.embedded import start_embedded
from tests.chaos import store
from tests.chaos.installation import LOOK_PERIOD_S, NUMBER, Installation, stop_at_once
from tests.chaos.schedule import Plan, Planned, Strike

SENDING_S_MAX = 60.0  # until the first message of a campaign


class Striker:
    """For one campaign, whose ledger begins at `ledger_from`. `owner_lost_at_s`: wall times."""

    def __init__(self, installation: Installation, ledger_from: int) -> None:
        self._installation = installation
        self._ledger_from = ledger_from
        self.owner_lost_at_s: list[float] = []

    async def strike_all(self, plan: Plan) -> None:
        """Every strike at its moment, counted from the first message."""
        await self._until_sending()
        began_s = time.monotonic()
        for planned in plan.strikes:
            await asyncio.sleep(max(0.0, began_s + planned.at_s - time.monotonic()))
            await self._strike(planned)

    async def _until_sending(self) -> None:
        deadline_s = time.monotonic() + SENDING_S_MAX
        while time.monotonic() < deadline_s:
            if await self._installation.service.length() > self._ledger_from:
                return
            await asyncio.sleep(LOOK_PERIOD_S)

    async def _strike(self, planned: Planned) -> None:
        match planned.strike:
            case Strike.KILL_OWNER | Strike.KILL_STANDBY | Strike.FREEZE_OWNER:
                await self._strike_worker(planned)
            case Strike.KILL_RECEIVER:
                self._installation.processes["receiver"].kill()
            case Strike.FORGE_EVENTS:
                with suppress(OSError):
                    status = await self._installation.service.forge_event(self._installation.callback)
                    if status < 400:
                        self._installation.unexpected.append(f"a forged event was answered {status}")
            case Strike.STOP_DATABASE:
                await self._stop_database(planned.lasts_s)
            case Strike.END_CONNECTIONS:
                await self._end_connections(planned.lasts_s)
            case Strike.BLOCK_OUTCOMES:
                await self._block_outcomes(planned)
            case _:
                await self._strike_network(planned)

    async def _strike_worker(self, planned: Planned) -> None:
        connection = await self._installation.connect()
        pid = await store.owner_pid(connection, NUMBER)
        await connection.close()
        workers = [self._installation.processes[name] for name in ("first", "second")]
        owners = [one for one in workers if one.pid == pid] or workers[:1]
        if planned.strike is Strike.KILL_STANDBY:
            next(one for one in workers if one is not owners[0]).kill()
            return
        self.owner_lost_at_s.append(time.time())
        if planned.strike is Strike.KILL_OWNER:
            owners[0].kill()
            return
        owners[0].signal(signal.SIGSTOP)
        await asyncio.sleep(planned.lasts_s)
        owners[0].signal(signal.SIGCONT)

    async def _stop_database(self, lasts_s: float) -> None:
        await asyncio.to_thread(stop_at_once, self._installation.home)
        await asyncio.sleep(lasts_s)
        await asyncio.to_thread(start_embedded, self._installation.home)

    async def _end_connections(self, lasts_s: float) -> None:
        until_s = time.monotonic() + lasts_s
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
