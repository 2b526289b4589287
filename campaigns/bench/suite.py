"""The order of a bench: each contestant once a repeat, so that the machine's changes meet all alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from campaigns.bench.database import Database, postgres
from campaigns.bench.guardian import guarded
from campaigns.bench.machine import Conditions, conditions, service_core
from campaigns.bench.report import ENGINE, ENGINE_ALONE, Results, Titled
from campaigns.bench.rounds import Load, Place, Run, run_engine, run_yardstick
from campaigns.bench.service import Provider, StandingService, own_service

Part = Literal["throughput", "pacing"]
YARDSTICK_S_MAX = 5.0  # a loop is steady after a moment
AROUND_S = 4.0  # what a measurement takes besides its time: starting and ending
PLANTED_PER_S = 80_000.0
_MODULE = "campaigns.bench.contestants"
YARDSTICKS = (
    ("session_loop", "plain session loop, stores nothing"),
    ("naive_script", "a first script: task, semaphore, INSERT a message"),
    ("lanes_alone", "the engine's connections alone"),
    ("floor", "raw Protocol, the floor"),
)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a bench is to measure. `service`: an emulator that stands already; None starts one."""

    load: Load
    repeats: int
    parts: tuple[Part, ...]
    service: str | None
    command: str


@dataclass(frozen=True, slots=True)
class Step:
    """One measurement, and what it is part of."""

    name: str
    title: str
    load: Load
    contestant: str | None = None  # None: the engine


class Watcher(Protocol):
    """Is told how far the bench is."""

    def begin(self, turn: int, step: Step) -> None: ...

    def look(self, elapsed_s: float, per_s: float) -> None: ...

    def done(self, run: Run) -> None: ...


def steps(asked: Asked) -> list[Step]:
    """The measurements of one repeat, in order."""
    return list(_steps(asked))


def duration_s(asked: Asked) -> float:
    """About how long it takes."""
    return asked.repeats * sum(map(_step_s, steps(asked)))


def run_suite(asked: Asked, watcher: Watcher) -> Results:
    """Measure everything. An address without an emulator is refused before anything is started or sent."""
    provide: Provider = own_service if asked.service is None else StandingService(asked.service)
    began = conditions(asked.command, asked.load.processes)
    service_core()
    with guarded(), postgres() as database:
        runs = _repeat(asked, database, provide, watcher)
    return _results(asked, began, runs)


def _step_s(step: Step) -> float:
    planting_s = step.load.recipients / PLANTED_PER_S if step.contestant is None else 0.0
    return (step.load.duration_s or 0.0) + AROUND_S + planting_s


def _steps(asked: Asked) -> Iterator[Step]:
    load, for_s = asked.load, asked.load.duration_s or 0.0
    if "throughput" in asked.parts:
        yield Step(ENGINE, "engine, durable, every guarantee", load)
        if load.processes > 1:
            yield Step(ENGINE_ALONE, "engine, one process", replace(load, processes=1))
        quick = replace(load, duration_s=min(for_s, YARDSTICK_S_MAX), events=False, processes=1)
        for name, title in YARDSTICKS:
            yield Step(name, title, quick, f"{_MODULE}:{name}")
    if "pacing" in asked.parts:
        one = replace(load, numbers=1, processes=1, events=False)
        yield Step("one_number", f"one number at {load.rate_per_s:,g}/s", one)


def _repeat(asked: Asked, database: Database, provide: Provider, watcher: Watcher) -> dict[str, list[Run]]:
    place = Place(database, provide, watcher.look)
    runs: dict[str, list[Run]] = {}
    turn = 0
    for _ in range(asked.repeats):
        for step in steps(asked):
            watcher.begin(turn, step)
            run = _measure(place, step)
            runs.setdefault(step.name, []).append(run)
            watcher.done(run)
            turn += 1
    return runs


def _measure(place: Place, step: Step) -> Run:
    if step.contestant is None:
        return run_engine(place, step.load)
    return run_yardstick(place, step.load, step.contestant)


def _results(asked: Asked, began: Conditions, runs: dict[str, list[Run]]) -> Results:
    titled = {
        step.name: (step, Titled(step.name, step.title, tuple(runs[step.name]))) for step in steps(asked)
    }
    return Results(
        conditions=began,
        service=asked.service or "its own",
        load=asked.load,
        repeats=asked.repeats,
        contestants=tuple(one for name, (_, one) in titled.items() if name != "one_number"),
        paces=tuple((step.load, one) for name, (step, one) in titled.items() if name == "one_number"),
    )
