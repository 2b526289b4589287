"""Faults of the workers: the owner of the number or its standby is killed or frozen."""

import asyncio
import signal
import time

import psutil

from tests.chaos import store
from tests.chaos.installation import NUMBER, WORKERS, Installation
from tests.chaos.processes import Running
from tests.chaos.schedule import Planned, Strike


class WorkerStrikes:
    """`owner_lost_at_s`: wall times at which a fault stopped the owner."""

    def __init__(self, installation: Installation) -> None:
        self._installation = installation
        self.owner_lost_at_s: list[float] = []

    async def strike(self, planned: Planned) -> None:
        owner, standby = await self._owner_and_standby()
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

    async def owner_ports_to(self, port: int) -> list[int]:
        """The local ports of the owner's connections to a port."""
        owner, _ = await self._owner_and_standby()
        return _ports_to(owner.pid, port)

    def kill_sender(self) -> None:
        """Kill the owner while the database may not answer: the worker with most connections to the service."""
        port = self._installation.service.port
        workers = [self._installation.processes[name] for name in WORKERS]
        self.owner_lost_at_s.append(time.time())
        max(workers, key=lambda worker: len(_ports_to(worker.pid, port))).kill()

    async def _owner_and_standby(self) -> tuple[Running, Running]:
        """The worker that holds the number, and the other one."""
        connection = await self._installation.connect()
        pid = await store.owner_pid(connection, NUMBER)
        await connection.close()
        first, second = (self._installation.processes[name] for name in WORKERS)
        return (second, first) if second.pid == pid else (first, second)


def _ports_to(pid: int, port: int) -> list[int]:
    """The local ports of a process's connections to a port."""
    peers = psutil.Process(pid).net_connections("tcp")
    return [peer.laddr.port for peer in peers if peer.raddr and peer.raddr.port == port]
