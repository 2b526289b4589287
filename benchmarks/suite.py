"""The suite of `drumbeat bench`: its measurements, in order. Each repeat measures everything once, so that a
change in the machine's speed affects all figures alike.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal, Protocol, cast, get_args

from drumbeat.benchmarks.applying import APPLY, run_apply
from drumbeat.benchmarks.harness.certificates import made_certificate, trusting
from drumbeat.benchmarks.harness.database import Database, database_at, postgres
from drumbeat.benchmarks.harness.emulators import EmulatorFactory, RunningEmulator, own_emulator
from drumbeat.benchmarks.harness.machine import Conditions, conditions, move_to_service_core
from drumbeat.benchmarks.harness.results import Load, Run, Stage, StageRun
from drumbeat.benchmarks.harness.testbed import Testbed
from drumbeat.benchmarks.harness.watchdog import watchdog
from drumbeat.benchmarks.planning import PLAN, run_plan
from drumbeat.benchmarks.receiving import RECEIVE, run_receive
from drumbeat.benchmarks.report.content import (
    ENGINE,
    ENGINE_ALONE,
    OWN_EMULATOR,
    PaceRow,
    Results,
    ScalingRow,
    Series,
    StageRow,
)
from drumbeat.benchmarks.scaling import TABLES, WARM_UP, Table, loads
from drumbeat.benchmarks.senders.runs import run_baseline, run_engine
from drumbeat.benchmarks.throughput import BASELINES

Part = Literal["throughput", "pacing", "planning", "receiving", "applying", "scaling"]
PARTS: tuple[Part, ...] = get_args(Part)
OWN_DATABASE_PARTS = frozenset[Part]({"planning", "receiving", "applying"})  # they measure its CPU as well
DEFAULT_PARTS = PARTS[:-1]  # scaling takes as long as all the others
NUMBERS = 32  # of throughput
# The options that change what a part measures.
_SENDING = frozenset(
    {
        "duration",
        "numbers",
        "rate",
        "latency_ms",
        "jitter",
        "processes",
        "events",
        "service",
        "tls",
        "ca_file",
        "database",
    }
)
USED_OPTIONS: dict[Part, frozenset[str]] = {
    "throughput": _SENDING,
    "pacing": _SENDING,
    "planning": frozenset({"duration"}),
    "receiving": frozenset({"duration"}),
    "applying": frozenset({"duration"}),
    "scaling": frozenset({"service", "tls", "ca_file", "database"}),  # its rows have loads of their own
}
NOT_INSTALLED = {"httpx_loop"}  # needs a package of the development installation
BASELINE_S_MAX = 5.0  # a loop reaches its steady rate within a second
OVERHEAD_S = 4.0  # to start and end a measurement
SEEDED_PER_S = 80_000.0
# Rows and recipients for each second of --duration: about what is done in that time.
PLANNED_ROWS_PER_S, PLANNED_ROWS_MIN, PLANNED_ROWS_MAX = 100_000, 300_000, 5_000_000
APPLIED_RECIPIENTS_PER_S, APPLIED_RECIPIENTS_MAX = 6_000, 200_000
SCALED_RECIPIENTS_MAX = 1_000_000

AnyRun = Run | StageRun


@dataclass(frozen=True, slots=True)
class SuiteRequest:
    """The wishes of a user. `service`: the URL of a running emulator; None starts one, which speaks HTTPS
    with `tls`. `ca_file` has the certificates that are trusted, and no others. `database`: the URL of a
    server on which a database is made for the run; None starts one.

    Pacing alone measures `load`. Beside throughput, which shows the pace of `load` too, it measures one
    number.
    """

    load: Load
    repeats: int
    parts: tuple[Part, ...]
    service: str | None
    command: str
    tls: bool = False
    ca_file: Path | None = None
    database: str | None = None


@dataclass(frozen=True, slots=True)
class Measurement:
    """One measurement of a repeat. `amount`: its size, in words. `takes_s`: about how long it takes.

    `load`: of a measurement that sends. `stage`: of one that does not. `table`: of a row of scaling.
    """

    part: Part
    name: str
    title: str
    amount: str
    takes_s: float
    measure: Callable[[Testbed], AnyRun]
    load: Load | None = None
    stage: Stage | None = None
    table: Table | None = None


class ProgressListener(Protocol):
    """A listener that gets the progress of the suite."""

    def began(self, turn: int, measurement: Measurement) -> None: ...

    def progressed(self, elapsed_s: float, per_s: float | None) -> None: ...

    def ended(self, run: AnyRun) -> None: ...


def measurements(request: SuiteRequest) -> list[Measurement]:
    """Return the measurements of one repeat, in order."""
    makers: dict[Part, Callable[[Load], Iterator[Measurement]]] = {
        "throughput": _throughput,
        "pacing": _one_number if "throughput" in request.parts else _pacing,
        "planning": _planning,
        "receiving": _receiving,
        "applying": _applying,
        "scaling": _scaling,
    }
    return [found for part in PARTS if part in request.parts for found in makers[part](request.load)]


def numbers_by_default(parts: Collection[Part]) -> int:
    """Return how many numbers send unless the user says it."""
    return NUMBERS if "throughput" in parts else 1


def unused(parts: Collection[Part], given: Iterable[str]) -> list[str]:
    """Return the options that were given and that none of these parts uses."""
    used = frozenset[str]().union(*(USED_OPTIONS[part] for part in parts))
    return [name for name in given if name not in used]


def duration_s(request: SuiteRequest) -> float:
    """Return about how long the suite takes."""
    return request.repeats * sum(measurement.takes_s for measurement in measurements(request))


def run_suite(request: SuiteRequest, listener: ProgressListener) -> Results:
    """Measure everything. An address that is no emulator is refused before anything is started or sent."""
    with _emulator_of(request) as emulator:
        conditions_before = conditions(request.command, request.load.processes)
        move_to_service_core()
        own = request.database is None
        with watchdog(), postgres() if own else database_at(str(request.database)) as database:
            runs = _repeat(request, database, emulator, listener)
    return _results(request, conditions_before, runs)


@contextmanager
def _emulator_of(request: SuiteRequest) -> Iterator[EmulatorFactory]:
    with ExitStack() as stack:
        if request.service is not None:
            if request.ca_file is not None:
                stack.enter_context(trusting(request.ca_file))
            yield RunningEmulator(request.service)
        elif request.tls:
            made = stack.enter_context(made_certificate())
            stack.enter_context(trusting(made.chain))
            yield partial(own_emulator, certificate=made)
        else:
            yield own_emulator


def _sending(
    part: Part, name: str, title: str, load: Load, *, baseline: bool = False, table: Table | None = None
) -> Measurement:
    """Return a measurement of the engine, or of the baseline `name`."""
    for_s = load.duration_s or 0.0
    seeding_s = 0.0 if baseline else load.recipients / SEEDED_PER_S
    measure: Callable[[Testbed], AnyRun] = (
        partial(run_baseline, load=load, baseline=name) if baseline else partial(run_engine, load=load)
    )
    takes_s = for_s + OVERHEAD_S + seeding_s
    return Measurement(part, name, title, f"{for_s:g} s", takes_s, measure, load=load, table=table)


def _throughput(load: Load) -> Iterator[Measurement]:
    yield _sending("throughput", ENGINE, "engine, durable, every guarantee", load)
    if load.processes > 1:
        yield _sending("throughput", ENGINE_ALONE, "engine, one process", replace(load, processes=1))
    short = replace(load, duration_s=_short_s(load), events=False, processes=1)
    for name, baseline in BASELINES.items():
        if name not in NOT_INSTALLED:
            yield _sending("throughput", name, baseline.title, short, baseline=True)


def _one_number(load: Load) -> Iterator[Measurement]:
    yield from _pacing(replace(load, numbers=1, processes=1, events=False))


def _pacing(load: Load) -> Iterator[Measurement]:
    one = load.numbers == 1
    title = f"{'one number' if one else f'{load.numbers} numbers'} at {load.rate_per_s:,g}/s"
    yield _sending("pacing", "one_number" if one else "numbers", title, load)


def _planning(load: Load) -> Iterator[Measurement]:
    wanted = int(PLANNED_ROWS_PER_S * (load.duration_s or 0.0))
    rows = min(max(wanted, PLANNED_ROWS_MIN), PLANNED_ROWS_MAX)
    takes_s = OVERHEAD_S + rows / 80_000
    yield _staged("planning", PLAN, f"{rows:,} rows", takes_s, partial(run_plan, rows=rows))


def _receiving(load: Load) -> Iterator[Measurement]:
    seconds = _short_s(load)
    for statuses, stage in RECEIVE.items():
        measure = partial(run_receive, statuses=statuses, seconds=seconds)
        yield _staged("receiving", stage, f"{seconds:g} s", 2 * (seconds + OVERHEAD_S), measure)


def _applying(load: Load) -> Iterator[Measurement]:
    recipients = min(int(APPLIED_RECIPIENTS_PER_S * (load.duration_s or 0.0)), APPLIED_RECIPIENTS_MAX)
    for stream, stage in APPLY.items():
        measure = partial(run_apply, recipients=recipients, stream=stream)
        yield _staged(
            "applying", stage, f"{3 * recipients:,} events", OVERHEAD_S + recipients / 8_000, measure
        )


def _staged(
    part: Part, stage: Stage, amount: str, takes_s: float, measure: Callable[[Testbed], StageRun]
) -> Measurement:
    return Measurement(part, stage.name, stage.title, amount, takes_s, measure, stage=stage)


def _scaling(_: Load) -> Iterator[Measurement]:
    for table in TABLES:
        for title, load in loads(table, SCALED_RECIPIENTS_MAX).items():
            yield _sending("scaling", f"{table}: {title}", title, load, table=table)


def _short_s(load: Load) -> float:
    return min(load.duration_s or 0.0, BASELINE_S_MAX)


def _repeat(
    request: SuiteRequest, database: Database, emulator: EmulatorFactory, listener: ProgressListener
) -> dict[str, list[AnyRun]]:
    testbed = Testbed(database, emulator, listener.progressed)
    runs: dict[str, list[AnyRun]] = {}
    if "scaling" in request.parts:
        run_engine(testbed, WARM_UP)
    planned = measurements(request)
    for turn, measurement in enumerate(planned * request.repeats):
        listener.began(turn, measurement)
        run = measurement.measure(testbed)
        runs.setdefault(measurement.name, []).append(run)
        listener.ended(run)
    return runs


def _results(request: SuiteRequest, before: Conditions, runs: dict[str, list[AnyRun]]) -> Results:
    done = measurements(request)

    def series(measurement: Measurement) -> Series:
        found = tuple(cast("Sequence[Run]", runs[measurement.name]))
        return Series(measurement.name, measurement.title, found)

    return Results(
        conditions=before,
        service=request.service or OWN_EMULATOR,
        load=request.load,
        repeats=request.repeats,
        senders=tuple(series(found) for found in done if found.part == "throughput"),
        paces=tuple(
            PaceRow(found.load, series(found)) for found in done if found.load and found.part == "pacing"
        ),
        stages=tuple(
            StageRow(found.stage, tuple(cast("Sequence[StageRun]", runs[found.name])))
            for found in done
            if found.stage
        ),
        scaling=tuple(
            ScalingRow(found.table, found.load, series(found)) for found in done if found.table and found.load
        ),
    )
