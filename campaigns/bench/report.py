"""A bench's report: figures with their spread over the repeats, as JSON that a later bench is compared with.

The shape is versioned by `schema`. Shares are of 1, times carry their unit in the name; a figure over repeats
is `{"median", "least", "most", "values"}`.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import orjson

from campaigns.bench.machine import Conditions
from campaigns.bench.rounds import Load, Run
from campaigns.bench.scaling import Table, reaches, service_share
from campaigns.bench.stages import Stage, StageRun
from engine.errors import ConfigurationError

SCHEMA = 1
FILE_NAME = "report.json"
OWN_SERVICE = "its own"
REPORT_BYTES_MAX = 64 * 1024 * 1024
FULL_SHARE = 0.9  # of a core: from here on its owner, not the sender, may set the rate
ENGINE = "engine"
ENGINE_ALONE = "engine_alone"
_Run = TypeVar("_Run", Run, StageRun)
STORING = frozenset({ENGINE, ENGINE_ALONE, "naive_script"})


@dataclass(frozen=True, slots=True)
class Titled:
    """What was measured so many times: `name` for programs, `title` for people."""

    name: str
    title: str
    runs: tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class Results:
    """All that a bench measured. `contestants`: the engine first; `paces`: with the load of each.

    `scaling`: rows of tables in order, the first of each is what its others are compared with.
    """

    conditions: Conditions
    service: str
    load: Load
    repeats: int
    contestants: tuple[Titled, ...]
    paces: tuple[tuple[Load, Titled], ...] = ()
    stages: tuple[tuple[Stage, tuple[StageRun, ...]], ...] = ()
    scaling: tuple[tuple[Table, Load, Titled], ...] = ()


def report_of(results: Results) -> dict[str, Any]:
    """The report as it is written."""
    engine = results.contestants[0] if results.contestants else None
    own = results.service == OWN_SERVICE
    paced = [(results.load, engine)] if engine is not None else []
    return {
        "schema": SCHEMA,
        "made_by": f"drumbeat {version('drumbeat')}",
        "conditions": asdict(results.conditions),
        "service": results.service,
        "repeats": results.repeats,
        "load": _load(results.load, own=own),
        "contestants": [_contestant(one, engine) for one in results.contestants],
        "headroom": None if engine is None else _headroom(engine.runs, results.load.processes),
        "pace": [_pace(load, titled, own=own) for load, titled in [*paced, *results.paces]],
        "stages": [_stage(stage, runs) for stage, runs in results.stages],
        "scaling": [
            _table(name, results.scaling, own=own)
            for name in dict.fromkeys(row[0] for row in results.scaling)
        ],
    }


def read_report(place: Path) -> dict[str, Any]:
    """The report of a directory, or of a file; ConfigurationError where there is none of this schema."""
    path = place / FILE_NAME if place.is_dir() else place
    try:
        with path.open("rb") as file:
            content = orjson.loads(file.read(REPORT_BYTES_MAX))
    except OSError as error:
        raise ConfigurationError(f"no report can be read: {error.strerror}", where=str(path)) from None
    except orjson.JSONDecodeError as error:
        raise ConfigurationError(f"this is no report: {error}", where=str(path)) from None
    if not isinstance(content, dict) or not {"schema", "contestants", "pace", "conditions"} <= content.keys():
        raise ConfigurationError("this is no report of `drumbeat bench`", where=str(path))
    if content["schema"] != SCHEMA:
        what = f"the report has schema {content['schema']}, this Drumbeat reads {SCHEMA}"
        raise ConfigurationError(what, where=str(path))
    return {"stages": [], "scaling": [], **content}  # what older reports of this schema do not have


def _load(load: Load, *, own: bool) -> dict[str, Any]:
    """`latency_ms`: None where the service is not the bench's own, which has the latency it has."""
    return {
        "numbers": load.numbers,
        "rate_per_s": load.rate_per_s,
        "total_per_s": load.total_per_s,
        "latency_ms": load.latency_ms if own else None,
        "processes": load.processes,
        "duration_s": load.duration_s,
        "events": load.events,
    }


def _spread(values: Sequence[float | None]) -> dict[str, Any] | None:
    """None where a figure is not known."""
    known = [_rounded(value) for value in values if value is not None]
    if not known:
        return None
    return {"median": statistics.median(known), "least": min(known), "most": max(known), "values": known}


def _rounded(value: float) -> float:
    """Six significant digits: more than a measurement has."""
    return float(f"{value:.6g}")


def _each(runs: Sequence[_Run], figure: Callable[[_Run], float | None]) -> dict[str, Any] | None:
    return _spread([figure(run) for run in runs])


def _typical(runs: Sequence[Run]) -> Run:
    """The run with the median rate; of an even count the lower."""
    return sorted(runs, key=lambda run: run.per_s)[(len(runs) - 1) // 2]


def _contestant(one: Titled, engine: Titled | None) -> dict[str, Any]:
    typical = _typical(one.runs)
    pairs = [] if engine is None or one is engine else list(zip(engine.runs, one.runs, strict=True))
    return {
        "name": one.name,
        "title": one.title,
        "messages": [run.messages for run in one.runs],
        "per_s": _each(one.runs, lambda run: run.per_s),
        "cpu_us": _each(one.runs, lambda run: run.cpu_us),
        "service_us": _each(one.runs, lambda run: run.service_us),
        # of the others it is what Postgres does by itself
        "database_us": _each(one.runs, lambda run: run.database_us) if one.name in STORING else None,
        # the engine against this one, repeat by repeat
        "engine_is": None
        if not pairs
        else {
            "by_rate": _spread([ours.per_s / theirs.per_s for ours, theirs in pairs]),
            "by_cpu": _spread([theirs.cpu_us / ours.cpu_us for ours, theirs in pairs]),
        },
        "latency_ms": typical.latency_ms,
        "histogram_ms": typical.histogram,
        "events": None if typical.events is None else asdict(typical.events),
    }


def _headroom(runs: Sequence[Run], senders: int) -> dict[str, Any]:
    """How full the cores were while the engine sent: of each sender, and of the emulator and Postgres."""
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


def _pace(load: Load, one: Titled, *, own: bool) -> dict[str, Any]:
    typical = _typical(one.runs)
    paces = [run.pace for run in one.runs if run.pace is not None]
    return {
        "name": one.name,
        "title": one.title,
        "load": _load(load, own=own),
        "reached": _spread([pace.reached for pace in paces]),
        "largest_written": _spread([pace.largest_written for pace in paces]),
        "largest_at_service": _spread([pace.largest_at_service for pace in paces]),
        "throttled": _spread([pace.throttled for pace in paces]),
        "latency_ms": typical.latency_ms,
        "by_second": typical.by_second,
    }


def _stage(stage: Stage, runs: Sequence[StageRun]) -> dict[str, Any]:
    return {
        "name": stage.name,
        "title": stage.title,
        "unit": stage.unit,
        "count": [run.count for run in runs],
        "per_s": _each(runs, lambda run: run.per_s),
        "cpu_us": _each(runs, lambda run: run.cpu_us),
        "database_us": _each(runs, lambda run: run.database_us),
        "p99_ms": _each(runs, lambda run: run.p99_ms),
        "yardstick": {"title": stage.yardstick, "per_s": _each(runs, lambda run: run.yardstick_per_s)},
        # repeat by repeat
        "of_yardstick": _each(runs, lambda run: run.per_s / run.yardstick_per_s),
    }


def _table(name: Table, scaling: Sequence[tuple[Table, Load, Titled]], *, own: bool) -> dict[str, Any]:
    rows = [(load, titled) for table, load, titled in scaling if table == name]
    first = rows[0][1].runs
    return {"name": name, "rows": [_scaled(load, titled, first, own=own) for load, titled in rows]}


def _scaled(load: Load, one: Titled, first: Sequence[Run], *, own: bool) -> dict[str, Any]:
    per_s = _each(one.runs, lambda run: run.per_s)
    assert per_s is not None
    return {
        "name": one.name,
        "title": one.title,
        "load": _load(load, own=own),
        "per_s": per_s,
        "cpu_us": _each(one.runs, lambda run: run.cpu_us),
        # against the first row, repeat by repeat
        "times_first": _spread([run.cpu_us / base.cpu_us for run, base in zip(one.runs, first, strict=True)]),
        "full": _each(one.runs, service_share),
        "reached": reaches(load, per_s["median"]),
    }
