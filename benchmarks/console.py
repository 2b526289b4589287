"""The benchmark of the console: what does it cost, beside a campaign of ROWS recipients that is sent
meanwhile?

    python -m drumbeat.benchmarks.console [ROWS] [--only views] [--streams 50] [--requests 30] [--rate 1000]
        [--turns 12] [--window 5] [--minutes 10] [--data DIRECTORY]

It answers three questions. `views`: how long does each view take while --rate messages a second are sent,
their events come back, and --streams are open? This is asked for the large campaign and, in turn, for one of
10,000. `watching`: what do --streams cost? The engine runs at full speed without and with them in turns of
--window seconds; the transactions that 1 and --streams of them cause are counted. `memory`: do a tab in
Chromium and the servers keep their memory in --minutes, at a thousand events a second? The exit code is 1 if
an aim is missed.

The engine has the first core. Postgres, the emulator, the console, the receiver, the readers of the streams
and Chromium share the last one. Half of the campaign is sent before, written as rows by SQL with the states,
codes and times of a real one; the planner is not used. With --data the filled database stays in DIRECTORY,
whose name begins with `drumbeat-bench-`, and the next run takes it from there.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

import orjson
import psutil

from drumbeat.benchmarks.harness.campaign_command import first_arrival_s, running
from drumbeat.benchmarks.harness.database import HOME_PREFIX, Database, postgres
from drumbeat.benchmarks.harness.emulators import FIRST_NUMBER, EmulatorSpec, own_emulator
from drumbeat.benchmarks.harness.machine import move_to_service_core
from drumbeat.benchmarks.harness.script import add_count, count, parser_of, print_conditions, run_script
from drumbeat.benchmarks.senders.status_events import PER_MESSAGE, ReceiverProcess, receiving
from drumbeat.benchmarks.viewing.seed import SQL, Planted, seed_console
from drumbeat.benchmarks.viewing.serving import ServedConsole, console
from drumbeat.benchmarks.viewing.tab import Course, watch_tab
from drumbeat.benchmarks.viewing.turns import Processes, Turns, commits_per_s, in_turns
from drumbeat.benchmarks.viewing.view_times import ViewTime, view_times
from drumbeat.benchmarks.viewing.watchers import Watchers
from drumbeat.engine.store.database import connect
from drumbeat.engine.store.migrate import migrate

NUMBERS = 16
NO_LIMIT_PER_S = 100_000.0
FULL_SPEED_PER_S = 2_000.0  # of each number: more than the engine can
EVENTS_PER_S = 1_000.0
P95_MS_MAX = 150.0
LOSS_MAX = 0.02
REFRESHES_RATIO_MAX = 1.3  # transactions of many watchers by those of one
PARTS = ("views", "watching", "memory")
COMMITS_WINDOW_S = 15.0
READ_PERIOD_S = 5.0
# Before memory is read: what the receiver keeps for its batches grows for five minutes.
WARM_UP_S = 300.0
SEEDED = "seeded.json"


@dataclass(frozen=True, slots=True)
class Options:
    recipients: int
    parts: tuple[str, ...]
    streams: int
    requests: int
    rate_per_s: float
    turns: int
    window_s: float
    minutes: float
    data: Path | None


@dataclass(frozen=True, slots=True)
class Bench:
    """The state that every part uses."""

    options: Options
    database: Database
    large: Planted
    small: Planted

    @property
    def page(self) -> str:
        return f"/live/campaigns/{self.large.name}"


def parsed() -> Options:
    parser = parser_of(__doc__)
    add_count(parser, "rows", 10_000_000)
    parser.add_argument("--only", action="append", choices=PARTS, help="repeatable; default: all")
    parser.add_argument("--streams", type=count, default=50)
    parser.add_argument("--requests", type=count, default=30, help="of each view")
    parser.add_argument("--rate", type=count, default=1_000, help="messages a second while views are asked")
    parser.add_argument("--turns", type=count, default=12, help="pairs of windows")
    parser.add_argument("--window", type=count, default=5, help="seconds")
    parser.add_argument("--minutes", type=float, default=10.0, help="of the tab, after its warm-up")
    parser.add_argument("--data", type=Path, help="keep the database there")
    got = parser.parse_args()
    if got.data is not None and not got.data.name.startswith(HOME_PREFIX):
        parser.error(f"--data: its name must begin with {HOME_PREFIX}")
    if not 0 < got.minutes <= 600:
        parser.error("--minutes must be above 0, and 600 at most")
    return Options(
        got.rows, tuple(got.only or PARTS), got.streams, got.requests, float(got.rate), got.turns, got.window,
        got.minutes, got.data,
    )  # fmt: skip


def seeded(database: Database, recipients: int) -> list[Planted]:
    """Return the campaigns of a filled database. Fill it if it is empty or has another number of
    recipients.
    """
    note = database.home / SEEDED
    if note.exists():
        known = [Planted(**each) for each in orjson.loads(note.read_bytes())]
        if known[0].recipients == recipients:
            asyncio.run(migrate(database.url))
            return known
    note.unlink(missing_ok=True)
    numbers = [str(FIRST_NUMBER + number) for number in range(NUMBERS)]
    planted = asyncio.run(seed_console(database, numbers, recipients))
    note.write_bytes(orjson.dumps([asdict(each) for each in planted]))
    return planted


@dataclass(frozen=True, slots=True)
class Sending:
    """The engine while it sends. `receiver`: the receiver of events, if there are any."""

    engine: psutil.Process
    receiver: ReceiverProcess | None


@contextmanager
def sending(bench: Bench, rate_per_s: float, *, events: bool) -> Iterator[Sending]:
    """Send the large campaign with the engine during the block, through all numbers together at this rate."""
    url = bench.database.url
    with ExitStack() as stack:
        emulator = stack.enter_context(own_emulator(EmulatorSpec(NUMBERS, NO_LIMIT_PER_S, events=events)))
        receiver = stack.enter_context(receiving(url, emulator)) if events else None
        asyncio.run(_set_limits(url, rate_per_s / NUMBERS))
        errors: IO[bytes] = stack.enter_context(tempfile.TemporaryFile())
        engine = stack.enter_context(running(bench.database, emulator, errors, "--wait"))
        first_arrival_s(emulator, 0, engine, errors)
        yield Sending(psutil.Process(engine.pid), receiver)


async def _set_limits(url: str, each_per_s: float) -> None:
    connection = await connect(url)
    try:
        await connection.execute(SQL["set_limits"], each_per_s)
    finally:
        await connection.close()


def views_part(bench: Bench) -> bool:
    async def measure(served: ServedConsole) -> list[ViewTime]:
        watchers = Watchers(served, bench.page)
        try:
            await watchers.open(bench.options.streams)
            return await view_times(served, (bench.large, bench.small), bench.options.requests)
        finally:
            await watchers.close()

    with sending(bench, bench.options.rate_per_s, events=True), console(bench.database) as served:
        times = asyncio.run(measure(served))
    return print_views(bench, times)


def load() -> str:
    """Return the load of the whole machine in the last minute: other programs slow everything that is
    measured.
    """
    return f"{os.getloadavg()[0]:.1f}"


def print_views(bench: Bench, times: Sequence[ViewTime]) -> bool:
    print(
        f"\nviews: {bench.large.recipients:,} recipients, {bench.options.rate_per_s:,.0f} messages/s,"
        f" {bench.options.streams} streams, {bench.options.requests} requests each; load {load()}"
    )
    print(f"{'median':>10}{'p95':>10}{'slowest':>10}{'large ÷ small':>15}")
    for view in sorted(times, key=lambda each: each.p95_ms, reverse=True):
        median_ms = statistics.median(view.large_ms)
        ratio = f"{median_ms / statistics.median(view.small_ms):.2f} ×" if view.small_ms else ""
        times_ms = (median_ms, view.p95_ms, max(view.large_ms))
        print("".join(f"{each:>7.1f} ms" for each in times_ms), f"{ratio:>14}  {view.route}")
    slow = [view.route for view in times if view.p95_ms > P95_MS_MAX]
    print(
        f"{len(times) - len(slow)} of {len(times)} views have a p95 of {P95_MS_MAX:g} ms or less", flush=True
    )
    return not slow


def watching_part(bench: Bench) -> bool:
    options = bench.options

    async def measure(served: ServedConsole, sent: Sending) -> Turns:
        processes = Processes(sent.engine, served.pid, bench.database.pid)
        return await in_turns(
            bench.database.url,
            served,
            bench.page,
            processes,
            options.streams,
            options.turns,
            options.window_s,
        )

    async def commits(served: ServedConsole, address: str) -> list[float]:
        url = bench.database.url
        return [
            await commits_per_s(url, served, address, each, COMMITS_WINDOW_S) for each in (1, options.streams)
        ]

    with console(bench.database) as served:
        with sending(bench, NUMBERS * FULL_SPEED_PER_S, events=False) as sent:
            turns = asyncio.run(measure(served, sent))
        refreshes = {
            address: asyncio.run(commits(served, address)) for address in (bench.page, "/live/campaigns")
        }
    return print_watching(bench, turns, refreshes)


def print_watching(bench: Bench, turns: Turns, refreshes: dict[str, list[float]]) -> bool:
    options = bench.options
    print(f"\nwatching: {options.turns} pairs of {options.window_s:g} s at full speed; load {load()}")
    print(f"{'':24}{'messages/s':>12}{'CPU a message':>16}{'console':>10}{'Postgres':>10}  (of a core)")
    for title, windows in (("nobody watches", turns.without), (f"{options.streams} streams", turns.watched)):
        per_s, cpu_us, console_core, database_core = (
            statistics.median(getattr(window, name) for window in windows)
            for name in ("per_s", "cpu_us", "console_core", "database_core")
        )
        print(f"{title:24}{per_s:>12,.0f}{cpu_us:>13.1f} µs{console_core:>10.1%}{database_core:>10.1%}")
    print(f"watched ÷ not watched: {turns.rate_ratio:.3f} by rate, {turns.cpu_ratio:.3f} by CPU (medians)")
    for address, (one, many) in refreshes.items():
        print(
            f"{address}: {one:.1f} transactions/s for 1 watcher, {many:.1f} for {options.streams}", flush=True
        )
    is_shared = all(many <= REFRESHES_RATIO_MAX * one + 1 for one, many in refreshes.values())
    return turns.rate_ratio >= 1 - LOSS_MAX and is_shared


def memory_part(bench: Bench) -> bool:
    async def measure(served: ServedConsole, sent: Sending) -> list[Course]:
        assert sent.receiver is not None
        servers = {"console": served.pid, "receiver": sent.receiver.pid}
        address, measured_s = bench.page.removeprefix("/live"), bench.options.minutes * 60
        return await watch_tab(
            served, address, servers, min(WARM_UP_S, measured_s / 2), measured_s, READ_PERIOD_S
        )

    with sending(bench, EVENTS_PER_S / PER_MESSAGE, events=True) as sent, console(bench.database) as served:
        courses = asyncio.run(measure(served, sent))
    return print_memory(bench, courses)


def print_memory(bench: Bench, courses: Sequence[Course]) -> bool:
    print(f"\nmemory: {bench.options.minutes:g} minutes at {EVENTS_PER_S:,.0f} events/s; load {load()}")
    print(f"{'':20}{'median':>14}{'a minute':>14}{'± 2 errors':>14}{'in all':>10}")
    for course in courses:
        print(
            f"{course.name:20}{statistics.median(course.values):>10,.0f} {course.unit:3}"
            f"{course.per_minute:>+14.2f}{course.error_per_minute:>14.2f}{course.growth_share:>+10.2%}"
            f"{'' if course.is_flat else '  GROWS'}",
            flush=True,
        )
    return all(course.is_flat for course in courses)


def main() -> int:
    options = parsed()
    print_conditions()
    move_to_service_core()
    measures = {"views": views_part, "watching": watching_part, "memory": memory_part}
    if options.data is not None:
        options.data.mkdir(mode=0o755, parents=True, exist_ok=True)
    with postgres(options.data) as database:
        bench = Bench(options, database, *seeded(database, options.recipients))
        reached = [measures[part](bench) for part in options.parts]
    return int(not all(reached))


if __name__ == "__main__":
    run_script(main)
