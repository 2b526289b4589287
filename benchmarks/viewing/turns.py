"""The cost of people who watch: the engine runs with and without them in turns, and the statements that they
cause are counted.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

import psutil

from drumbeat.benchmarks.harness.machine import cpu_s, tree_cpu_s
from drumbeat.benchmarks.harness.processes import BenchmarkFailed
from drumbeat.benchmarks.viewing.seed import SQL
from drumbeat.benchmarks.viewing.serving import ServedConsole
from drumbeat.benchmarks.viewing.watchers import Watchers
from drumbeat.campaigns.console.web.streams import BEAT_S
from drumbeat.engine.store.database import Connection, connect

SETTLE_S = 1.0  # after a change: streams open, the engine finds its rate again
REPORTED_S = 11.0  # a session that is idle reports to the statistics what it did after ten


@dataclass(frozen=True, slots=True)
class Window:
    """The work of the engine in a window, and the shares of their core that console and Postgres used."""

    per_s: float
    cpu_us: float
    console_core: float
    database_core: float


@dataclass(frozen=True, slots=True)
class Turns:
    """The windows without and with watchers, in pairs."""

    without: list[Window]
    watched: list[Window]

    @property
    def rate_ratio(self) -> float:
        """Return the engine's rate with watchers by its rate without them: the median of the pairs."""
        pairs = zip(self.without, self.watched, strict=True)
        return statistics.median(after.per_s / before.per_s for before, after in pairs)

    @property
    def cpu_ratio(self) -> float:
        pairs = zip(self.without, self.watched, strict=True)
        return statistics.median(after.cpu_us / before.cpu_us for before, after in pairs)


@dataclass(frozen=True, slots=True)
class Processes:
    """The processes that take part in a window."""

    engine: psutil.Process
    console_pid: int
    database_pid: int


async def in_turns(
    database_url: str,
    console: ServedConsole,
    address: str,
    processes: Processes,
    streams: int,
    turns: int,
    window_s: float,
) -> Turns:
    """Measure pairs of windows. Every other pair begins with the watchers, so that a drift falls on both
    alike.
    """
    found = Turns([], [])
    connection = await connect(database_url)
    try:
        for turn in range(turns):
            for is_watched in (turn % 2 == 1, turn % 2 == 0):
                watchers = Watchers(console, address)
                if is_watched:
                    await watchers.open(streams)
                try:
                    await asyncio.sleep(SETTLE_S)
                    window = await _window(connection, processes, window_s)
                finally:
                    await watchers.close()
                (found.watched if is_watched else found.without).append(window)
    finally:
        await connection.close()
    return found


async def _window(connection: Connection, processes: Processes, window_s: float) -> Window:
    before = await _reading(connection, processes)
    await asyncio.sleep(window_s)
    after = await _reading(connection, processes)
    took = [later - earlier for earlier, later in zip(before, after, strict=True)]
    took_s, messages, engine_s, console_s, database_s = took
    if not messages:
        raise BenchmarkFailed("nothing was sent in a window: give more ROWS, or fewer --turns")
    return Window(messages / took_s, engine_s / messages * 1e6, console_s / took_s, database_s / took_s)


async def _reading(connection: Connection, processes: Processes) -> Sequence[float]:
    attempts = await connection.fetchval(SQL["attempts"])
    return (
        time.monotonic(),
        attempts,
        cpu_s(processes.engine.pid),
        cpu_s(processes.console_pid),
        tree_cpu_s(processes.database_pid),
    )


async def commits_per_s(
    database_url: str, console: ServedConsole, address: str, streams: int, window_s: float
) -> float:
    """Return the transactions a second in the whole database while so many watch and nobody sends, without
    the looks at the sessions of the streams.
    """
    watchers = Watchers(console, address)
    connection = await connect(database_url)
    try:
        await watchers.open(streams)
        await asyncio.sleep(REPORTED_S)
        before_s, before = time.monotonic(), await _commits(connection)
        await asyncio.sleep(window_s)
        after = await _commits(connection)
        return (after - before) / (time.monotonic() - before_s) - streams / BEAT_S
    finally:
        await watchers.close()
        await connection.close()


async def _commits(connection: Connection) -> int:
    await connection.execute(SQL["clear_snapshot"])
    commits: int = await connection.fetchval(SQL["commits"])
    return commits
