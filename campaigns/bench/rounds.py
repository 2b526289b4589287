"""One measurement at a time: the service, the database and the sender of a contestant, and what each took."""

from __future__ import annotations

import asyncio
import http.client
import math
import select
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import IO, Any

import orjson

from campaigns.bench.contestants import AT_ONCE, Task
from campaigns.bench.database import Database
from campaigns.bench.events import Events, Receiver, receiving, take_events
from campaigns.bench.machine import family_cpu_s, sender_cores
from campaigns.bench.planting import FIRST_PHONE, clear, plant
from campaigns.bench.processes import BenchFailed, Process, first_line, last_line, started
from campaigns.bench.sending import Sent, read_sent
from campaigns.bench.service import Provider, Service, Wanted
from campaigns.bench.timing import histogram, percentiles
from campaigns.bench.worker import Call, Part, order_of
from engine.store.database import connect

LOOK_PERIOD_S = 0.5
# What no contestant reaches: a limit that the service then never applies.
NO_LIMIT_PER_S = 100_000.0
SENT_PER_S_MAX = 60_000.0  # by one process: nobody is planted whom it could not reach in its time
RECIPIENTS_MAX = 10_000_000  # some 4 GB on disk when all are sent; a campaign that is done ends a run early
AT_ONCE_MAX = 4_000
ACCEPTED_SHARE_MIN = 0.99
# Beyond its time: to start, to drain, to store, on a machine that does other work too.
SPARE_S = 120.0
COUNTED_S_MAX = 900.0
TIMED_PER_S = 2_000.0  # of the engine's requests: enough for a p99.9 within seconds, and no cost that shows

Look = Callable[[float, float | None], None]
"""(seconds since it began, messages a second that the service accepts now, where that is known)"""


@dataclass(frozen=True, slots=True)
class Load:
    """What is sent: through `numbers` with a limit each, for `duration_s`, at most `messages`.

    `events`: three status events a message come back, are stored and folded meanwhile. `limited`: the service
    applies the limits too; else only the engine's pace knows them. `timed`: of some requests it is told how
    long their replies took.
    """

    numbers: int
    rate_per_s: float
    latency_ms: float = 0.0
    processes: int = 1
    duration_s: float | None = None
    messages: int | None = None
    events: bool = False
    limited: bool = True
    timed: bool = True

    @property
    def total_per_s(self) -> float:
        return self.numbers * self.rate_per_s

    @property
    def recipients(self) -> int:
        """How many are planted: as many as could be reached, within reason."""
        if self.messages is not None:
            return self.messages
        assert self.duration_s is not None, "a load has an end"
        reachable_per_s = min(self.total_per_s, SENT_PER_S_MAX * self.processes)
        return min(int(reachable_per_s * (self.duration_s + 2)) + 1_000, RECIPIENTS_MAX)

    @property
    def longest_s(self) -> float:
        return (COUNTED_S_MAX if self.duration_s is None else self.duration_s) + SPARE_S


@dataclass(frozen=True, slots=True)
class Pace:
    """How near the engine came to the limit, as shares of it: 1 is the limit.

    `reached`: after the first half second, None where not every write is known. `largest_*`: the fullest
    sliding second of any number, by times of writing and at the service. `throttled`: share of requests.
    """

    reached: float | None
    largest_written: float
    largest_at_service: float
    throttled: float


@dataclass(frozen=True, slots=True)
class Run:
    """One measurement. CPU seconds are of the sending processes, of the service and of the database."""

    messages: int
    elapsed_s: float
    cpu_s: float
    service_cpu_s: float | None = None
    database_cpu_s: float | None = None
    latency_ms: dict[str, float] = field(default_factory=dict)
    histogram: list[list[float]] = field(default_factory=list)
    pace: Pace | None = None
    by_second: dict[str, list[int]] = field(default_factory=dict)
    events: Events | None = None

    @property
    def per_s(self) -> float:
        return self.messages / self.elapsed_s

    @property
    def cpu_us(self) -> float:
        """Of the sender, for each message."""
        return self.cpu_s / self.messages * 1e6

    @property
    def service_us(self) -> float | None:
        return self._each_us(self.service_cpu_s)

    @property
    def database_us(self) -> float | None:
        return self._each_us(self.database_cpu_s)

    def _each_us(self, cpu_s: float | None) -> float | None:
        return None if cpu_s is None else cpu_s / self.messages * 1e6


@dataclass(frozen=True, slots=True)
class Place:
    """Where measurements are made, and who looks on."""

    database: Database
    provide: Provider
    look: Look | None = None


def run_engine(place: Place, load: Load) -> Run:
    """The engine with all its guarantees; everything that it sent is durable when this returns."""
    rate_per_s = load.rate_per_s if load.limited else NO_LIMIT_PER_S
    wanted = Wanted(load.numbers, rate_per_s, load.latency_ms, events=load.events)
    with ExitStack() as stack:
        service = stack.enter_context(place.provide(wanted))
        rates = dict.fromkeys(service.numbers, load.rate_per_s)
        campaign_id = asyncio.run(plant(place.database.url, rates, load.recipients))
        receiver = stack.enter_context(receiving(place.database.url, service)) if load.events else None
        meter = _Meter(place, service)
        works = [_part(place, service, numbers, campaign_id, load) for numbers in _shares(service, load)]
        results = run_workers(works, load.longest_s, meter.look)
        taken, seen = meter.taken(), service.ledger()  # before the reading below takes the database's time
        sent = asyncio.run(_read(place.database.url, campaign_id, sum(one["cpu_s"] for one in results)))
        accepted = sum(one["accepted"] for one in seen.values())
        latencies_ms = sorted(latency_ms for one in results for latency_ms in one["latencies_ms"])
        return _engine_run(load, sent, seen, taken, latencies_ms, _events(place, service, receiver, accepted))


def run_yardstick(place: Place, load: Load, contestant: str) -> Run:
    """A contestant (`module:function`) in one process, against a service that applies no limit."""
    asyncio.run(clear(place.database.url))
    with place.provide(Wanted(load.numbers, NO_LIMIT_PER_S, load.latency_ms)) as service:
        open_needed = math.ceil(load.total_per_s * load.latency_ms / 1e3 * 1.25)
        task = Task(
            url=service.url,
            token=service.token,
            version=service.version,
            product=service.product,
            numbers=service.numbers,
            first_phone=FIRST_PHONE,
            database_url=place.database.url,
            messages=load.messages or int(SENT_PER_S_MAX * load.longest_s),
            for_s=load.duration_s,
            at_once=min(max(AT_ONCE, open_needed), AT_ONCE_MAX),
        )
        meter = _Meter(place, service)
        (found,) = run_workers([(contestant, task)], load.longest_s, meter.look)
        service_cpu_s, database_cpu_s = meter.taken()
    if found["accepted"] < ACCEPTED_SHARE_MIN * found["messages"] or not found["messages"]:
        raise BenchFailed(f"{contestant}: {found['accepted']} of {found['messages']} messages were accepted")
    return Run(
        messages=found["messages"],
        elapsed_s=found["elapsed_s"],
        cpu_s=found["cpu_s"],
        service_cpu_s=service_cpu_s,
        database_cpu_s=database_cpu_s,
        latency_ms=found["latency_ms"],
        histogram=found["histogram"],
    )


class _Meter:
    """What the service and the database take from now on, and what the service accepts meanwhile."""

    def __init__(self, place: Place, service: Service) -> None:
        self._place, self._service = place, service
        self._service_s, self._database_s = service.cpu_s(), family_cpu_s(place.database.pid)
        self._began_s = self._then_s = time.monotonic()
        self._accepted = service.accepted()

    def look(self) -> None:
        """Show how fast it goes, at most every half second."""
        now_s = time.monotonic()
        if self._place.look is None or now_s - self._then_s < LOOK_PERIOD_S:
            return
        try:
            accepted = self._service.accepted()
        except (OSError, http.client.HTTPException):
            return  # its core is full: whoever looks on must not end the measurement
        per_s = (accepted - self._accepted) / (now_s - self._then_s)
        self._accepted, self._then_s = accepted, now_s
        self._place.look(now_s - self._began_s, per_s)

    def taken(self) -> tuple[float | None, float]:
        """CPU seconds of the service (None where it does not tell) and of the database."""
        service_s = self._service.cpu_s()
        told = None if service_s is None or self._service_s is None else service_s - self._service_s
        return told, family_cpu_s(self._place.database.pid) - self._database_s


def _shares(service: Service, load: Load) -> list[tuple[str, ...]]:
    count = min(load.processes, len(service.numbers))
    return [service.numbers[first::count] for first in range(count)]


def _part(place: Place, service: Service, numbers: tuple[str, ...], campaign_id: int, load: Load) -> Part:
    return Part(
        database_url=place.database.url,
        url=service.url,
        token=service.token,
        version=service.version,
        product=service.product,
        numbers=numbers,
        campaign_id=campaign_id,
        for_s=load.duration_s,
        timed_every=max(1, round(load.total_per_s / TIMED_PER_S)) if load.timed else 0,
    )


def run_workers(
    works: Sequence[Part | tuple[str, Task]], longest_s: float, look: Callable[[], None] = lambda: None
) -> list[dict[str, Any]]:
    """Each work in a worker process; all begin together, once every process is ready.

    `look` is called meanwhile, a few times a second. Raises BenchFailed where one ends without a result.
    """
    cores = sender_cores(len(works))
    orders = [order_of(work, [cores[turn % len(cores)]]) for turn, work in enumerate(works)]
    return _carry_out(orders, longest_s, look)


def run_call(
    call: Call, cores: Sequence[int], longest_s: float, look: Callable[[], None] = lambda: None
) -> dict[str, Any]:
    """As `run_workers`, one call on these cores."""
    (result,) = _carry_out([order_of(call, cores)], longest_s, look)
    return result


def _carry_out(orders: Sequence[bytes], longest_s: float, look: Callable[[], None]) -> list[dict[str, Any]]:
    with ExitStack() as stack:
        workers: list[tuple[Process, IO[bytes]]] = []
        for _ in orders:
            errors: IO[bytes] = stack.enter_context(tempfile.TemporaryFile())
            words = ["-m", "campaigns.bench.worker"]
            workers.append((stack.enter_context(started(words, feed=True, stderr=errors)), errors))
        for process, errors in workers:
            if not first_line(process):
                raise BenchFailed(f"a measurement did not start: {last_line(errors)}")
        for order, (process, _) in zip(orders, workers, strict=True):
            assert process.stdin is not None
            process.stdin.write(order)
            process.stdin.flush()
        return _results(workers, time.monotonic() + longest_s, look)


def _results(
    workers: Sequence[tuple[Process, IO[bytes]]], deadline_s: float, look: Callable[[], None]
) -> list[dict[str, Any]]:
    waiting = {process.stdout: errors for process, errors in workers if process.stdout is not None}
    found: list[dict[str, Any]] = []
    while waiting:
        if time.monotonic() > deadline_s:
            raise BenchFailed("a measurement did not end in its time")
        ready, _, _ = select.select(list(waiting), [], [], LOOK_PERIOD_S / 2)
        for pipe in ready:
            line, errors = pipe.readline(), waiting.pop(pipe)
            if not line:
                raise BenchFailed(f"a measurement ended early: {last_line(errors)}")
            if not line.endswith(b"\n"):
                raise BenchFailed(f"a measurement ended while it told its result: {last_line(errors)}")
            found.append(orjson.loads(line))
        look()
    return found


async def _read(url: str, campaign_id: int, cpu_s: float) -> Sent:
    connection = await connect(url, command_timeout_s=COUNTED_S_MAX)
    try:
        sent = await read_sent(connection, campaign_id, cpu_s)
    finally:
        await connection.close()
    if sent.messages < 2 or not sent.numbers:
        raise BenchFailed("the engine sent nothing in its time")
    return sent


def _events(place: Place, service: Service, receiver: Receiver | None, accepted: int) -> Events | None:
    if receiver is None:
        return None
    return asyncio.run(take_events(place.database.url, service, receiver, accepted))


def _engine_run(
    load: Load,
    sent: Sent,
    seen: dict[str, dict[str, Any]],
    taken: tuple[float | None, float],
    latencies_ms: Sequence[float],
    events: Events | None,
) -> Run:
    limit_per_s, numbers = load.rate_per_s, sent.numbers.values()
    steady_per_s = sum(number.steady_per_s for number in numbers)
    pace = Pace(
        reached=steady_per_s / load.total_per_s if sent.all_timed else None,
        largest_written=max(number.largest_second for number in numbers) / limit_per_s,
        largest_at_service=max(one["largest_window"] for one in seen.values()) / limit_per_s,
        throttled=sent.throttled / (sent.messages + sent.throttled),
    )
    return Run(
        messages=sent.messages,
        elapsed_s=sent.elapsed_s,
        cpu_s=sent.cpu_s,
        service_cpu_s=taken[0],
        database_cpu_s=taken[1],
        latency_ms=percentiles(latencies_ms),
        histogram=histogram(latencies_ms),
        pace=pace,
        by_second={name: list(number.by_second) for name, number in sent.numbers.items() if sent.all_timed},
        events=events,
    )
