"""The measurement of a sender, in worker processes, and the CPU that sender, emulator and database used."""

from __future__ import annotations

import asyncio
import http.client
import math
import time
from contextlib import ExitStack
from dataclasses import asdict
from typing import Any

from drumbeat.benchmarks.harness.emulators import EmulatorSpec, MeasuredEmulator
from drumbeat.benchmarks.harness.machine import sender_cores
from drumbeat.benchmarks.harness.processes import BenchmarkFailed
from drumbeat.benchmarks.harness.results import SENT_PER_S_MAX, UNBOUNDED_S_MAX, Load, Pace, Run, StatusEvents
from drumbeat.benchmarks.harness.seeding import FIRST_PHONE, clear_database, seed_campaign
from drumbeat.benchmarks.harness.testbed import Testbed
from drumbeat.benchmarks.harness.workers import run_worker, run_workers
from drumbeat.benchmarks.senders.baselines import IN_FLIGHT_REQUESTS, Task
from drumbeat.benchmarks.senders.engine import CampaignSent, read_sent
from drumbeat.benchmarks.senders.latency import histogram, percentiles
from drumbeat.benchmarks.senders.status_events import ReceiverProcess, receiving, wait_for_events
from drumbeat.engine.store.database import connect

POLL_PERIOD_S = 0.5
NO_LIMIT_PER_S = 100_000.0  # faster than any sender, so that the emulator never throttles
IN_FLIGHT_REQUESTS_MAX = 4_000
ACCEPTED_SHARE_MIN = 0.99
TIMED_PER_S = 2_000.0  # of the engine's requests: a p99.9 within seconds, at a cost that does not show


def run_engine(testbed: Testbed, load: Load) -> Run:
    """Run the engine with all its guarantees. Everything that it sent is durable when this returns."""
    rate_per_s = load.rate_per_s if load.limited else NO_LIMIT_PER_S
    spec = EmulatorSpec(load.numbers, rate_per_s, load.latency_ms, load.jitter, events=load.events)
    url = testbed.database.url
    with ExitStack() as stack:
        emulator = stack.enter_context(testbed.emulator(spec))
        rates = dict.fromkeys(emulator.numbers, load.rate_per_s)
        campaign_id = asyncio.run(seed_campaign(url, rates, load.recipients, guards=load.guards))
        receiver = stack.enter_context(receiving(url, emulator)) if load.events else None
        meter = _Meter(testbed, emulator)
        shares = [_share(testbed, emulator, numbers, campaign_id, load) for numbers in _split(emulator, load)]
        cores = sender_cores(len(shares))
        pinned = [[cores[turn % len(cores)]] for turn in range(len(shares))]
        results = run_workers(
            "drumbeat.benchmarks.senders.engine:send_share", shares, pinned, load.longest_s, meter.poll
        )
        service_cpu_s, database_cpu_s = meter.used_cpu_s()  # before the queries below use the database's time
        ledger = emulator.ledger()
        sent = asyncio.run(_read(url, campaign_id))
        accepted = sum(number["accepted"] for number in ledger.values())
        events = _events(testbed, emulator, receiver, accepted)
    latencies_ms = sorted(latency_ms for result in results for latency_ms in result["latencies_ms"])
    return Run(
        messages=sent.messages,
        elapsed_s=sent.elapsed_s,
        cpu_s=sum(result["cpu_s"] for result in results),
        service_cpu_s=service_cpu_s,
        database_cpu_s=database_cpu_s,
        latency_ms=percentiles(latencies_ms),
        histogram=histogram(latencies_ms),
        pace=_pace(load, sent, ledger),
        by_second={name: list(number.by_second) for name, number in sent.numbers.items() if sent.all_timed},
        events=events,
    )


def run_baseline(testbed: Testbed, load: Load, baseline: str) -> Run:
    """Run a baseline (a function of `senders.baselines`) in one process, at the rate that is offered to the
    engine. The emulator does not limit it: simple senders do not keep to every second.
    """
    asyncio.run(clear_database(testbed.database.url))
    with testbed.emulator(
        EmulatorSpec(load.numbers, NO_LIMIT_PER_S, load.latency_ms, load.jitter)
    ) as emulator:
        in_flight_needed = math.ceil(load.total_per_s * load.latency_ms / 1e3 * 1.25)
        task = Task(
            **emulator.access,
            numbers=emulator.numbers,
            first_phone=FIRST_PHONE,
            database_url=testbed.database.url,
            messages=load.messages or int(SENT_PER_S_MAX * load.longest_s),
            for_s=load.duration_s,
            per_s=load.total_per_s if load.limited else None,
            in_flight_requests=min(max(IN_FLIGHT_REQUESTS, in_flight_needed), IN_FLIGHT_REQUESTS_MAX),
        )
        meter = _Meter(testbed, emulator)
        found = run_task(baseline, task, load.longest_s, meter)
        service_cpu_s, database_cpu_s = meter.used_cpu_s()
    del found["accepted"]
    return Run(**found, service_cpu_s=service_cpu_s, database_cpu_s=database_cpu_s)


def run_task(baseline: str, task: Task, longest_s: float, meter: _Meter | None = None) -> dict[str, Any]:
    """Run a baseline's task and return its result. BenchmarkFailed if the service refused more than a few
    messages.
    """
    arguments = {"name": baseline, "task": asdict(task)}
    poll = (lambda: None) if meter is None else meter.poll
    found = run_worker(
        "drumbeat.benchmarks.senders.baselines:run", arguments, sender_cores(), longest_s, poll
    )
    if found["accepted"] < ACCEPTED_SHARE_MIN * found["messages"] or not found["messages"]:
        what = f"{found['accepted']} of {found['messages']} messages were accepted"
        raise BenchmarkFailed(f"{baseline}: {what}")
    return found


class _Meter:
    """A meter of the CPU that emulator and database use from now on, and of the rate at which the emulator
    accepts.
    """

    def __init__(self, testbed: Testbed, emulator: MeasuredEmulator) -> None:
        self._testbed, self._emulator = testbed, emulator
        self._service_s, self._database_s = emulator.cpu_s(), testbed.database.cpu_s()
        self._began_s = self._polled_s = time.monotonic()
        self._accepted = emulator.accepted()

    def poll(self) -> None:
        """Report progress, at most every half second."""
        now_s = time.monotonic()
        if self._testbed.on_progress is None or now_s - self._polled_s < POLL_PERIOD_S:
            return
        try:
            accepted = self._emulator.accepted()
        except (OSError, http.client.HTTPException):
            return  # its core is full; progress reports must not end the measurement
        per_s = (accepted - self._accepted) / (now_s - self._polled_s)
        self._accepted, self._polled_s = accepted, now_s
        self._testbed.on_progress(now_s - self._began_s, per_s)

    def used_cpu_s(self) -> tuple[float | None, float | None]:
        """Return the CPU seconds of the emulator and of the database; None if they are not reported."""
        used_s = _difference(self._service_s, self._emulator.cpu_s())
        return used_s, _difference(self._database_s, self._testbed.database.cpu_s())


def _difference(before_s: float | None, after_s: float | None) -> float | None:
    return None if before_s is None or after_s is None else after_s - before_s


def _split(emulator: MeasuredEmulator, load: Load) -> list[tuple[str, ...]]:
    """Return the numbers of each process."""
    count = min(load.processes, len(emulator.numbers))
    return [emulator.numbers[first::count] for first in range(count)]


def _share(
    testbed: Testbed, emulator: MeasuredEmulator, numbers: tuple[str, ...], campaign_id: int, load: Load
) -> dict[str, Any]:
    """Return a process's share, as arguments of `engine.send_share`."""
    return {
        "access": emulator.access,
        "database_url": testbed.database.url,
        "numbers": numbers,
        "campaign_id": campaign_id,
        "for_s": load.duration_s,
        "timed_every": max(1, round(load.total_per_s / TIMED_PER_S)) if load.timed else 0,
        "metrics_port": load.metrics_port,
    }


async def _read(url: str, campaign_id: int) -> CampaignSent:
    connection = await connect(url, command_timeout_s=UNBOUNDED_S_MAX)
    try:
        sent = await read_sent(connection, campaign_id)
    finally:
        await connection.close()
    if sent.messages < 2 or not sent.numbers:
        raise BenchmarkFailed("the engine sent nothing in its time")
    return sent


def _events(
    testbed: Testbed, emulator: MeasuredEmulator, receiver: ReceiverProcess | None, accepted: int
) -> StatusEvents | None:
    if receiver is None:
        return None
    return asyncio.run(wait_for_events(testbed.database.url, emulator, receiver, accepted))


def _pace(load: Load, sent: CampaignSent, ledger: dict[str, dict[str, Any]]) -> Pace:
    limit_per_s, numbers = load.rate_per_s, sent.numbers.values()
    steady_per_s = sum(number.steady_per_s for number in numbers)
    return Pace(
        reached=steady_per_s / load.total_per_s if sent.all_timed else None,
        largest_written=max(number.largest_second for number in numbers) / limit_per_s,
        largest_at_service=max(number["largest_window"] for number in ledger.values()) / limit_per_s,
        throttled=sent.throttled / (sent.messages + sent.throttled),
    )
