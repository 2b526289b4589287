"""The order of a bench: each contestant once a repeat, so that the machine's changes meet all alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, Protocol, cast, get_args

from campaigns.bench.database import Database, postgres
from campaigns.bench.guardian import guarded
from campaigns.bench.machine import Conditions, conditions, service_core
from campaigns.bench.report import ENGINE, ENGINE_ALONE, OWN_SERVICE, Results, Titled
from campaigns.bench.rounds import Load, Place, Run, run_engine, run_yardstick
from campaigns.bench.scaling import SMALL_PER_S, TABLES, Table, load_of, loads
from campaigns.bench.service import Provider, StandingService, own_service
from campaigns.bench.stages import FOLD, PLAN, RECEIVE, Stage, StageRun, run_fold, run_plan, run_receive

Part = Literal["throughput", "pacing", "planning", "receiving", "folding", "scaling"]
PARTS: tuple[Part, ...] = get_args(Part)
USUAL = PARTS[:-1]  # scaling alone takes as long as all the others
YARDSTICK_S_MAX = 5.0  # a loop is steady after a moment
AROUND_S = 4.0  # what a measurement takes besides its time: starting and ending
PLANTED_PER_S = 80_000.0
# Of an audience or a stream, for each second that a measurement is to last: about what is done in that time.
PLANNED_ROWS_PER_S, PLANNED_ROWS_MIN, PLANNED_ROWS_MAX = 100_000, 300_000, 5_000_000
FOLDED_RECIPIENTS_PER_S, FOLDED_RECIPIENTS_MAX = 6_000, 200_000
SCALED_RECIPIENTS_MAX = 1_000_000
_MODULE = "campaigns.bench.contestants"
YARDSTICKS = (
    ("session_loop", "plain session loop, stores nothing"),
    ("naive_script", "a first script: task, semaphore, INSERT a message"),
    ("lanes_alone", "the engine's connections alone"),
    ("floor", "raw Protocol, the floor"),
)

Measured = Run | StageRun


@dataclass(frozen=True, slots=True)
class Asked:
    """What a bench is to measure. `service`: a running emulator; None starts one."""

    load: Load
    repeats: int
    parts: tuple[Part, ...]
    service: str | None
    command: str


@dataclass(frozen=True, slots=True)
class Step:
    """One measurement: what it is part of, how much of it in words, about how long it takes.

    `load`: of what is sent; `stage`: of what is not; `table`: where it is a row of one.
    """

    part: Part
    name: str
    title: str
    amount: str
    takes_s: float
    measure: Callable[[Place], Measured]
    load: Load | None = None
    stage: Stage | None = None
    table: Table | None = None


class Watcher(Protocol):
    """Is told how far the bench is."""

    def begin(self, turn: int, step: Step) -> None: ...

    def look(self, elapsed_s: float, per_s: float | None) -> None: ...

    def done(self, run: Measured) -> None: ...


def steps(asked: Asked) -> list[Step]:
    """The measurements of one repeat, in order."""
    makers: dict[Part, Callable[[Load], Iterator[Step]]] = {
        "throughput": _throughput,
        "pacing": _pacing,
        "planning": _planning,
        "receiving": _receiving,
        "folding": _folding,
        "scaling": _scaling,
    }
    return [step for part in PARTS if part in asked.parts for step in makers[part](asked.load)]


def duration_s(asked: Asked) -> float:
    """About how long it takes."""
    return asked.repeats * sum(step.takes_s for step in steps(asked))


def run_suite(asked: Asked, watcher: Watcher) -> Results:
    """Measure everything. An address without an emulator is refused before anything is started or sent."""
    provide: Provider = own_service if asked.service is None else StandingService(asked.service)
    began = conditions(asked.command, asked.load.processes)
    service_core()
    with guarded(), postgres() as database:
        runs = _repeat(asked, database, provide, watcher)
    return _results(asked, began, runs)


def _sending(
    part: Part, name: str, title: str, load: Load, contestant: str | None = None, table: Table | None = None
) -> Step:
    """Of the engine, unless a contestant is named."""
    for_s = load.duration_s or 0.0
    planting_s = load.recipients / PLANTED_PER_S if contestant is None else 0.0
    measure: Callable[[Place], Measured] = (
        partial(run_engine, load=load)
        if contestant is None
        else partial(run_yardstick, load=load, contestant=contestant)
    )
    return Step(
        part, name, title, f"{for_s:g} s", for_s + AROUND_S + planting_s, measure, load=load, table=table
    )


def _throughput(load: Load) -> Iterator[Step]:
    yield _sending("throughput", ENGINE, "engine, durable, every guarantee", load)
    if load.processes > 1:
        yield _sending("throughput", ENGINE_ALONE, "engine, one process", replace(load, processes=1))
    quick = replace(load, duration_s=_short_s(load), events=False, processes=1)
    for name, title in YARDSTICKS:
        yield _sending("throughput", name, title, quick, f"{_MODULE}:{name}")


def _pacing(load: Load) -> Iterator[Step]:
    one = replace(load, numbers=1, processes=1, events=False)
    yield _sending("pacing", "one_number", f"one number at {load.rate_per_s:,g}/s", one)


def _planning(load: Load) -> Iterator[Step]:
    wanted = int(PLANNED_ROWS_PER_S * (load.duration_s or 0.0))
    rows = min(max(wanted, PLANNED_ROWS_MIN), PLANNED_ROWS_MAX)
    takes_s = AROUND_S + rows / 80_000
    yield _staged("planning", PLAN, f"{rows:,} rows", takes_s, partial(run_plan, rows=rows))


def _receiving(load: Load) -> Iterator[Step]:
    seconds = _short_s(load)
    for statuses, stage in RECEIVE.items():
        measure = partial(run_receive, statuses=statuses, seconds=seconds)
        yield _staged("receiving", stage, f"{seconds:g} s", 2 * (seconds + AROUND_S), measure)


def _folding(load: Load) -> Iterator[Step]:
    recipients = min(int(FOLDED_RECIPIENTS_PER_S * (load.duration_s or 0.0)), FOLDED_RECIPIENTS_MAX)
    for stream, stage in FOLD.items():
        measure = partial(run_fold, recipients=recipients, stream=stream)
        yield _staged("folding", stage, f"{3 * recipients:,} events", AROUND_S + recipients / 8_000, measure)


def _staged(
    part: Part, stage: Stage, amount: str, takes_s: float, measure: Callable[[Place], StageRun]
) -> Step:
    return Step(part, stage.name, stage.title, amount, takes_s, measure, stage=stage)


def _scaling(_: Load) -> Iterator[Step]:
    for table in TABLES:
        for title, load in loads(table, SCALED_RECIPIENTS_MAX).items():
            yield _sending("scaling", f"{table}: {title}", title, load, table=table)


def _short_s(load: Load) -> float:
    return min(load.duration_s or 0.0, YARDSTICK_S_MAX)


def _repeat(
    asked: Asked, database: Database, provide: Provider, watcher: Watcher
) -> dict[str, list[Measured]]:
    place = Place(database, provide, watcher.look)
    runs: dict[str, list[Measured]] = {}
    if "scaling" in asked.parts:
        run_engine(place, load_of(4, SMALL_PER_S))  # a new server's first sending is dear; it is not counted
    turn = 0
    for _ in range(asked.repeats):
        for step in steps(asked):
            watcher.begin(turn, step)
            run = step.measure(place)
            runs.setdefault(step.name, []).append(run)
            watcher.done(run)
            turn += 1
    return runs


def _results(asked: Asked, began: Conditions, runs: dict[str, list[Measured]]) -> Results:
    done = steps(asked)

    def titled(part: Part) -> list[tuple[Step, Titled]]:
        return [
            (step, Titled(step.name, step.title, tuple(cast("Sequence[Run]", runs[step.name]))))
            for step in done
            if step.part == part
        ]

    return Results(
        conditions=began,
        service=asked.service or OWN_SERVICE,
        load=asked.load,
        repeats=asked.repeats,
        contestants=tuple(one for _, one in titled("throughput")),
        paces=tuple((step.load, one) for step, one in titled("pacing") if step.load),
        stages=tuple(
            (step.stage, tuple(cast("Sequence[StageRun]", runs[step.name]))) for step in done if step.stage
        ),
        scaling=tuple(
            (step.table, step.load, one) for step, one in titled("scaling") if step.table and step.load
        ),
    )
