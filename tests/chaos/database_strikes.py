"""Faults of the database: stopped, its connections ended, a table locked, its disk full."""

import asyncio
import time

from drumbeat.engine.process.embedded_postgres import start_embedded
from tests.chaos.installation import POLL_PERIOD_S, Installation, stop_at_once
from tests.chaos.schedule import Planned, Strike
from tests.chaos.worker_strikes import WorkerStrikes

FULL_S_MAX = 60.0  # until a full disk has stopped the sending


class DatabaseStrikes:
    def __init__(self, installation: Installation, workers: WorkerStrikes) -> None:
        self._installation = installation
        self._workers = workers

    async def stop_database(self, planned: Planned) -> None:
        await asyncio.to_thread(stop_at_once, self._installation.home)
        await asyncio.sleep(planned.lasts_s)
        await asyncio.to_thread(start_embedded, self._installation.home)

    async def end_connections(self, planned: Planned) -> None:
        until_s = time.monotonic() + planned.lasts_s
        while time.monotonic() < until_s:
            connection = await self._installation.connect()
            await connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name LIKE 'drumbeat %' AND pid <> pg_backend_pid() AND random() < 0.5"
            )
            await connection.close()
            await asyncio.sleep(0.1)

    async def block_outcomes(self, planned: Planned) -> None:
        """Like a lock of maintenance or a full table: claims are stored, outcomes are not. The owner is killed."""
        connection = await self._installation.connect()
        async with connection.transaction():
            await connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            await connection.execute("LOCK TABLE outcomes IN SHARE ROW EXCLUSIVE MODE")
            await asyncio.sleep(planned.lasts_s)
            await self._workers.strike(Planned(0.0, Strike.KILL_OWNER))
        await connection.close()

    async def fill_disk(self, planned: Planned) -> None:
        """Until nothing more is accepted; then the disk is freed, and the server started if it stopped."""
        assert self._installation.disk is not None, "this installation has no small disk"
        await asyncio.to_thread(self._installation.disk.fill)
        try:
            if planned.strike is Strike.FILL_DISK_AND_KILL:
                await asyncio.sleep(planned.lasts_s / 10)  # meanwhile it finds out that nothing can be stored
                self._workers.kill_sender()
            await self._until_idle(planned.lasts_s)
        finally:
            self._installation.disk.free()
            await asyncio.to_thread(start_embedded, self._installation.home)

    async def _until_idle(self, idle_s: float) -> None:
        """Return when nothing was accepted for `idle_s`."""
        ledger = self._installation.service.ledger
        deadline_s = time.monotonic() + FULL_S_MAX
        length, since_s = await ledger.length(), time.monotonic()
        while time.monotonic() < min(deadline_s, since_s + idle_s):
            await asyncio.sleep(POLL_PERIOD_S)
            if (now := await ledger.length()) != length:
                length, since_s = now, time.monotonic()
