"""The content of a report as JSON: each figure with its spread over the repeats.

`schema` is the version of the format. Shares are of 1; names of times end in their unit; a figure over
repeats is `{"median", "least", "most", "values"}`.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import orjson

from drumbeat.benchmarks.harness.machine import Conditions
from drumbeat.benchmarks.harness.results import Load, Run, Stage, StageRun
from drumbeat.benchmarks.scaling import Table, reaches, service_share
from drumbeat.engine.errors import ConfigurationError

SCHEMA = 1
FILE_NAME = "report.json"
OWN_EMULATOR = "its own"
REPORT_BYTES_MAX = 64 * 1024 * 1024
FULL_SHARE = 0.9  # of a core; above it, the programs on that core may limit the rate
ENGINE = "engine"
ENGINE_ALONE = "engine_alone"
_Run = TypeVar("_Run", Run, StageRun)
STORING = frozenset({ENGINE, ENGINE_ALONE, "first_script"})  # senders that use Postgres


@dataclass(frozen=True, slots=True)
class Series:
    """The runs of one sender, one for each repeat. `name` is for programs, `title` for people."""

    name: str
    title: str
    runs: tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class PaceRow:
    load: Load
    series: Series


@dataclass(frozen=True, slots=True)
class StageRow:
    stage: Stage
    runs: tuple[StageRun, ...]


@dataclass(frozen=True, slots=True)
class ScalingRow:
    table: Table
    load: Load
    series: Series


@dataclass(frozen=True, slots=True)
class Results:
    """The results of all measurements. `senders`: the engine first, then the baselines.

    `scaling`: rows in order; each is compared with the first row of its table.
    """

    conditions: Conditions
    service: str
    load: Load
    repeats: int
    senders: tuple[Series, ...]
    paces: tuple[PaceRow, ...] = ()
    stages: tuple[StageRow, ...] = ()
    scaling: tuple[ScalingRow, ...] = ()


def report_of(results: Results) -> dict[str, Any]:
    """Return the report as it is written."""
    engine = results.senders[0] if results.senders else None
    own = results.service == OWN_EMULATOR
    paced = [PaceRow(results.load, engine)] if engine is not None else []
    return {
        "schema": SCHEMA,
        "made_by": f"drumbeat {version('drumbeat')}",
        "conditions": asdict(results.conditions),
        "service": results.service,
        "repeats": results.repeats,
        "load": _load(results.load, own=own),
        "senders": [_sender(series, engine) for series in results.senders],
        "headroom": None if engine is None else _headroom(engine.runs, results.load.processes),
        "pace": [_pace(row, own=own) for row in [*paced, *results.paces]],
        "stages": [_stage(row) for row in results.stages],
        "scaling": [
            _table(name, results.scaling, own=own)
            for name in dict.fromkeys(row.table for row in results.scaling)
        ],
    }


def read_report(path: Path) -> dict[str, Any]:
    """Return the report in a directory or a file. ConfigurationError if there is none of this schema."""
    path = path / FILE_NAME if path.is_dir() else path
    try:
        with path.open("rb") as file:
            content = orjson.loads(file.read(REPORT_BYTES_MAX))
    except OSError as error:
        raise ConfigurationError(f"the report cannot be read: {error.strerror}", where=str(path)) from None
    except orjson.JSONDecodeError as error:
        raise ConfigurationError(f"the file is not a report: {error}", where=str(path)) from None
    if not isinstance(content, dict) or not {"schema", "senders", "pace", "conditions"} <= content.keys():
        raise ConfigurationError("the file is not a report of `drumbeat bench`", where=str(path))
    if content["schema"] != SCHEMA:
        what = f"the report has schema {content['schema']}, this Drumbeat reads {SCHEMA}"
        raise ConfigurationError(what, where=str(path))
    return {"stages": [], "scaling": [], **content}  # older reports of this schema lack these


def _load(load: Load, *, own: bool) -> dict[str, Any]:
    """Return the load. `latency_ms` and `jitter` are None for an emulator that someone else runs, because
    its latency is not known.
    """
    return {
        "numbers": load.numbers,
        "rate_per_s": load.rate_per_s,
        "total_per_s": load.total_per_s,
        "latency_ms": load.latency_ms if own else None,
        "jitter": load.jitter if own else None,
        "processes": load.processes,
        "duration_s": load.duration_s,
        "events": load.events,
        **({"tls": True} if load.tls else {}),  # older reports do not name it
    }


def _spread(values: Sequence[float | None]) -> dict[str, Any] | None:
    """Return the spread of the values, or None if no value is known."""
    known = [_rounded(value) for value in values if value is not None]
    if not known:
        return None
    return {"median": statistics.median(known), "least": min(known), "most": max(known), "values": known}


def _rounded(value: float) -> float:
    """Return the value with six significant digits, more than a measurement has."""
    return float(f"{value:.6g}")


def _each(runs: Sequence[_Run], figure: Callable[[_Run], float | None]) -> dict[str, Any] | None:
    return _spread([figure(run) for run in runs])


def _typical(runs: Sequence[Run]) -> Run:
    """Return the run with the median rate: for an even count, the lower of the two."""
    return sorted(runs, key=lambda run: run.per_s)[(len(runs) - 1) // 2]


def _sender(series: Series, engine: Series | None) -> dict[str, Any]:
    typical = _typical(series.runs)
    pairs = [] if engine is None or series is engine else list(zip(engine.runs, series.runs, strict=True))
    return {
        "name": series.name,
        "title": series.title,
        "messages": [run.messages for run in series.runs],
        "per_s": _each(series.runs, lambda run: run.per_s),
        "cpu_us": _each(series.runs, lambda run: run.cpu_us),
        "service_us": _each(series.runs, lambda run: run.service_us),
        # of senders that do not use Postgres it would be Postgres' background work
        "database_us": _each(series.runs, lambda run: run.database_us) if series.name in STORING else None,
        # the engine against this sender, within each repeat: its rate over this rate, this CPU over its CPU
        "engine_ratio": None
        if not pairs
        else {
            "by_rate": _spread([engine_run.per_s / run.per_s for engine_run, run in pairs]),
            "by_cpu": _spread([run.cpu_us / engine_run.cpu_us for engine_run, run in pairs]),
        },
        "latency_ms": typical.latency_ms,
        "latency_spread_ms": _latency_spread(series.runs),
        "histogram_ms": typical.histogram,
        "events": None if typical.events is None else asdict(typical.events),
    }


def _latency_spread(runs: Sequence[Run]) -> dict[str, dict[str, Any]]:
    """Return each percentile of the reply times over the repeats, in ms by its name."""
    names = dict.fromkeys(name for run in runs for name in run.latency_ms)
    spreads = {name: _spread([run.latency_ms.get(name) for run in runs]) for name in names}
    return {name: spread for name, spread in spreads.items() if spread is not None}


def _headroom(runs: Sequence[Run], senders: int) -> dict[str, Any]:
    """Return how busy the cores were while the engine sent: each sender's, and that of emulator and
    Postgres.
    """
    sender = _each(runs, lambda run: _share(run.cpu_s / senders, run))
    service = _each(runs, lambda run: _share(run.service_cpu_s, run))
    database = _each(runs, lambda run: _share(run.database_cpu_s, run))
    shares = [spread["median"] for spread in (service, database) if spread is not None]
    return {
        "sender_share": sender,
        "service_share": service,
        "database_share": database,
        "could_carry_per_s": _each(
            runs, lambda run: None if not run.service_cpu_s else run.messages / run.service_cpu_s
        ),
        "enough": None if service is None else sum(shares) < FULL_SHARE,
    }


def _share(seconds: float | None, run: Run) -> float | None:
    return None if seconds is None else seconds / run.elapsed_s


def _pace(row: PaceRow, *, own: bool) -> dict[str, Any]:
    series, typical = row.series, _typical(row.series.runs)
    paces = [run.pace for run in series.runs if run.pace is not None]
    return {
        "name": series.name,
        "title": series.title,
        "load": _load(row.load, own=own),
        "reached": _spread([pace.reached for pace in paces]),
        "largest_written": _spread([pace.largest_written for pace in paces]),
        "largest_at_service": _spread([pace.largest_at_service for pace in paces]),
        "throttled": _spread([pace.throttled for pace in paces]),
        "latency_ms": typical.latency_ms,
        "latency_spread_ms": _latency_spread(series.runs),
        "by_second": typical.by_second,
    }


def _stage(row: StageRow) -> dict[str, Any]:
    stage, runs = row.stage, row.runs
    return {
        "name": stage.name,
        "title": stage.title,
        "unit": stage.unit,
        "count": [run.count for run in runs],
        "per_s": _each(runs, lambda run: run.per_s),
        "cpu_us": _each(runs, lambda run: run.cpu_us),
        "database_us": _each(runs, lambda run: run.database_us),
        "p99_ms": _each(runs, lambda run: run.p99_ms),
        "baseline": {"title": stage.baseline, "per_s": _each(runs, lambda run: run.baseline_per_s)},
        # within each repeat
        "of_baseline": _each(runs, lambda run: run.per_s / run.baseline_per_s),
    }


def _table(name: Table, scaling: Sequence[ScalingRow], *, own: bool) -> dict[str, Any]:
    rows = [row for row in scaling if row.table == name]
    first = rows[0].series.runs
    return {"name": name, "rows": [_scaled(row, first, own=own) for row in rows]}


def _scaled(row: ScalingRow, first: Sequence[Run], *, own: bool) -> dict[str, Any]:
    load, series = row.load, row.series
    pairs = zip(series.runs, first, strict=True)
    per_s = _each(series.runs, lambda run: run.per_s)
    assert per_s is not None
    return {
        "name": series.name,
        "title": series.title,
        "load": _load(load, own=own),
        "per_s": per_s,
        "cpu_us": _each(series.runs, lambda run: run.cpu_us),
        # against the first row, within each repeat
        "times_first": _spread([run.cpu_us / base.cpu_us for run, base in pairs]),
        "full": _each(series.runs, service_share),
        "reached": reaches(load, per_s["median"]),
    }
