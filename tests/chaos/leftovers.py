"""What idle processes hold open: files, connections, threads, tasks. More than at first is left behind.

Law: a process is compared with itself in the same part (owner of the number or not), when everything that a
run asked of it is over. Pools and lanes may keep what they are allowed to keep; all else must not grow.
"""

import asyncio
import os
import signal
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import orjson
import psutil

from drumbeat.engine import app
from drumbeat.engine.webhooks import server as service

CALM_S_MAX = 10.0  # how long a process may take to release what a run needed
PERIOD_S = 0.1
FIRST_MEASUREMENTS = 6
TASKS_S_MAX = 5.0  # for an answer to the signal
# The program's own, libuv's pool of 4 and asyncio's of cores + 4, which both begin when a name is looked up.
THREADS_MAX = 1 + 4 + min(32, (os.cpu_count() or 1) + 4)
LANE = "Dispatcher._lane"  # idle lanes wait for the next message; their number follows the latency


@dataclass(frozen=True, slots=True)
class Held:
    """One measurement of a process. `files`: all that are no sockets. `deserted`: sockets whose other end is gone."""

    files: int
    threads: int
    database: int
    deserted: int
    tasks: Mapping[str, int]

    def most(self, other: "Held") -> "Held":
        """The greater of two measurements, count by count: each may miss a task between two waits."""
        return Held(
            max(self.files, other.files),
            max(self.threads, other.threads),
            max(self.database, other.database),
            max(self.deserted, other.deserted),
            Counter(self.tasks) | Counter(other.tasks),
        )

    def beyond(self, first: "Held", database_max: int) -> list[str]:
        """In words: the counts above those of the first measurement, or above the pool's limit."""
        grown = [
            f"{name} {before} → {now}"
            for name, before, now in (
                ("files", first.files, self.files),
                *((f"tasks {name}", first.tasks.get(name, 0), count) for name, count in self.tasks.items()),
            )
            if now > before and name != f"tasks {LANE}"
        ]
        if self.threads > THREADS_MAX:
            grown.append(f"{self.threads} threads, allowed are {THREADS_MAX}")
        if self.database > database_max:
            grown.append(f"{self.database} connections to the database, allowed are {database_max}")
        return grown + ([f"{self.deserted} sockets whose peer is gone"] if self.deserted else [])


# A worker runs this from start to end. Before it, a measurement does not show what the worker holds when idle.
BEGUN = "ResultsWriter.run"


class Leftovers:
    """Remembers the first measurement of each process. `tasks`: the directory in which processes write their tasks."""

    def __init__(self, tasks: Path) -> None:
        self._tasks = tasks
        self._first: dict[tuple[int, bool], Held] = {}

    async def beyond(self, name: str, pid: int, database_port: int, *, owner: bool) -> list[str]:
        """Wait until a process holds no more than it may; what it still holds after CALM_S_MAX."""
        deadline_s = time.monotonic() + CALM_S_MAX
        limit = (service if name == "receiver" else app).POOL_CONNECTIONS
        while True:
            held = await self._measure(pid, database_port)
            if held is None or (name != "receiver" and not held.tasks[BEGUN]):
                return []
            found = held.beyond(self._first.get((pid, owner), held), limit)
            if not found:
                await self._remember(pid, owner, held, database_port)
                return []
            if time.monotonic() >= deadline_s:
                return [f"left open by the {name}: {line}" for line in found]
            await asyncio.sleep(PERIOD_S)

    async def _remember(self, pid: int, owner: bool, held: Held, database_port: int) -> None:
        """The first measurement combines several, to include what an idle process opens and closes."""
        if (pid, owner) in self._first:
            return
        for _ in range(FIRST_MEASUREMENTS):
            held = held.most(await self._measure(pid, database_port) or held)
        self._first[pid, owner] = held

    async def _measure(self, pid: int, database_port: int) -> Held | None:
        """None if the process has ended or is stopped."""
        try:
            tasks = await self._ask_for_tasks(pid)
            if tasks is None:
                return None
            process = psutil.Process(pid)
            peers = process.net_connections("tcp")
            files = [link for link in _links(pid) if not link.startswith("socket:")]
            return Held(
                files=len(files),
                threads=process.num_threads(),
                database=sum(bool(peer.raddr) and peer.raddr.port == database_port for peer in peers),
                deserted=sum(peer.status == psutil.CONN_CLOSE_WAIT for peer in peers),
                tasks=tasks,
            )
        except (psutil.NoSuchProcess, ProcessLookupError, FileNotFoundError, StopIteration):
            return None

    async def _ask_for_tasks(self, pid: int) -> Counter[str] | None:
        tasks_file = self._tasks / f"{pid}.json"
        tasks_file.unlink(missing_ok=True)
        deadline_s = time.monotonic() + TASKS_S_MAX
        while time.monotonic() < deadline_s:
            if _listens(pid):
                os.kill(pid, signal.SIGUSR1)
            await asyncio.sleep(0.05)
            if tasks_file.exists():
                return Counter(orjson.loads(tasks_file.read_bytes()))
        return None


def left_behind(home: Path) -> list[str]:
    """After an installation's end: its directory, and processes that were started for it."""
    found = [f"{home} left behind"] if home.exists() else []
    for process in psutil.process_iter():
        try:
            command = " ".join(process.cmdline())
            words = [command, *process.environ().values()]
        except psutil.Error:  # ended meanwhile, or of another user
            continue
        if any(str(home) in word for word in words):
            found.append(f"process {process.pid} left behind: {command[:200]}")
    return found


def _listens(pid: int) -> bool:
    """Whether the process has a handler for the signal, which would end it without one."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    caught = next(line.split()[1] for line in lines if line.startswith("SigCgt"))
    return bool(int(caught, 16) >> (signal.SIGUSR1 - 1) & 1)


def _links(pid: int) -> list[str]:
    directory = Path(f"/proc/{pid}/fd")
    links = []
    for entry in directory.iterdir():
        try:
            links.append(str(entry.readlink()))
        except FileNotFoundError:  # closed since it was listed
            continue
    return links
