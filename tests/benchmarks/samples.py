"""Runs with figures that were chosen, and reports of them."""

from typing import Any

from drumbeat.benchmarks.harness.machine import Conditions
from drumbeat.benchmarks.harness.results import Load, Pace, Run, StageRun
from drumbeat.benchmarks.planning import PLAN
from drumbeat.benchmarks.receiving import RECEIVE
from drumbeat.benchmarks.report.content import PaceRow, Results, ScalingRow, Series, StageRow, report_of

CONDITIONS = Conditions(
    processor="Processor <1>",
    cores=2,
    placement="one core for the sender, one for emulator and Postgres",
    load=0.25,
    python="CPython 3.11.7",
    system="Linux 6",
    date="2026-11-21T12:00:00+00:00",
    command="drumbeat bench --numbers 2",
)
LOAD = Load(numbers=2, rate_per_s=1_000.0, latency_ms=5.0, duration_s=4.0)


def engine_run(per_s: float, cpu_us: float = 50.0) -> Run:
    """Four seconds of the engine; the emulator took a quarter of a core, Postgres an eighth."""
    messages = int(per_s * 4)
    return Run(
        messages=messages,
        elapsed_s=4.0,
        cpu_s=messages * cpu_us / 1e6,
        service_cpu_s=1.0,
        database_cpu_s=0.5,
        latency_ms={"p50": 1.5, "p99": 2.75, "max": 30.5},
        histogram=[[2.0, 90], [3.0, 9], [40.0, 1]],
        pace=Pace(reached=0.75, largest_written=0.875, largest_at_service=0.9375, throttled=0.0625),
        by_second={"1000": [700, 760, 740, 3], "1001": [710, 750, 745, 2]},
    )


def baseline_run(per_s: float, cpu_us: float = 100.0) -> Run:
    """Two seconds of a loop whose requests were timed."""
    messages = int(per_s * 2)
    return Run(
        messages=messages,
        elapsed_s=2.0,
        cpu_s=messages * cpu_us / 1e6,
        service_cpu_s=0.5,
        database_cpu_s=0.0,
        latency_ms={"p50": 5.5, "p99": 9.25, "max": 20.125},
        histogram=[[6.0, messages - 10], [12.0, 10]],
    )


def stage_run(per_s: float, p99_ms: float | None = None) -> StageRun:
    """Two seconds of a stage at 4 µs of CPU each, Postgres at 2; its baseline did a million a second."""
    count = int(per_s * 2)
    return StageRun(count, 2.0, count * 4e-6, count * 2e-6, 1_000_000.0, p99_ms)


def stages_report() -> dict[str, Any]:
    """A report of two repeats: stages other than sending, and the cost of a message by the number of numbers."""
    few, many = (Load(numbers, 500.0, 5.0, duration_s=4.0) for numbers in (1, 16))
    results = Results(
        conditions=CONDITIONS,
        service="its own",
        load=LOAD,
        repeats=2,
        senders=(),
        stages=(
            StageRow(PLAN, (stage_run(200_000), stage_run(150_000))),
            StageRow(RECEIVE[1], (stage_run(20_000, 6.5), stage_run(22_000, 8.5))),
        ),
        scaling=(
            ScalingRow(
                "numbers", few, Series("numbers: one", "one number", (engine_run(500), engine_run(490)))
            ),
            ScalingRow(
                "numbers",
                many,
                Series("numbers: 16", "16 numbers", (engine_run(4_000, 60.0), engine_run(4_200, 75.0))),
            ),
        ),
    )
    return report_of(results)


def report(
    engine: list[float] | None = None, loop: list[float] | None = None, **changed: Any
) -> dict[str, Any]:
    """A report of these rates, one a repeat."""
    engine = engine or [1_500.0, 1_520.0, 1_480.0]
    loop = loop or [500.0, 510.0, 490.0][: len(engine)]
    results = Results(
        conditions=changed.get("conditions", CONDITIONS),
        service=changed.get("service", "its own"),
        load=changed.get("load", LOAD),
        repeats=len(engine),
        senders=(
            Series("engine", "engine, durable", tuple(engine_run(per_s) for per_s in engine)),
            Series("plain_loop", "plain aiohttp loop", tuple(baseline_run(per_s) for per_s in loop)),
            Series("first_script", "first script", tuple(baseline_run(per_s / 2) for per_s in loop)),
        ),
        paces=(PaceRow(LOAD, Series("one_number", "one number", (engine_run(990.0),))),),
    )
    return report_of(results)
