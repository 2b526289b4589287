"""The comparison of two reports: the changes, their sizes, and whether they exceed the spread of the
repeats.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from drumbeat.benchmarks.report.content import ENGINE, ENGINE_ALONE

Verdict = Literal["better", "worse", "within the spread", "no spread", "same"]
REPEATS_MIN = 2  # in each report, for a spread


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of the report: its key and its title. The last field is true if more of it is better."""

    key: str
    title: str
    more_is_better: bool


_LATENCY = (
    Figure("p50", "p50 ms", False),
    Figure("p99", "p99 ms", False),
    Figure("p99.9", "p99.9 ms", False),
)
_CPU = Figure("cpu_us", "CPU µs a message", False)
_SENDER = (
    Figure("per_s", "messages/s", True),
    _CPU,
    Figure("database_us", "Postgres CPU µs a message", False),
)
_RATIOS = (
    Figure("by_rate", "engine's rate ÷ this rate", True),
    Figure("by_cpu", "this CPU ÷ engine's CPU", True),
)
_STAGE = (
    Figure("per_s", "per second", True),
    Figure("cpu_us", "CPU µs each", False),
    Figure("database_us", "Postgres CPU µs each", False),
    Figure("of_baseline", "rate ÷ baseline's rate", True),
    Figure("p99_ms", "p99 ms", False),
)
_SCALED = (
    _CPU,
    Figure("times_first", "CPU ÷ first row's CPU", False),
)
_PACE = (
    Figure("reached", "share of the limit", True),
    Figure("throttled", "throttled requests", False),
)
_RELATIVE = frozenset({"of_baseline", "times_first"})  # measured against something that may change too
_OWN = (ENGINE, ENGINE_ALONE)  # the senders with every guarantee
_PARTS = ("senders", "pace", "stages", "scaling")
ENGINE_TRANSPORT = "engine_transport"  # part of Drumbeat, so no measure of the machine
LOAD_DIFFERENCE = 1.0  # a core that was busy with other work in one of the two
_CONDITIONS = ("processor", "cores", "placement", "python", "system")


@dataclass(frozen=True, slots=True)
class ComparedFigure:
    """One figure of both reports. `change`: from A to B, as a share of A; None if A is 0.

    `verdict`: better or worse only if the ranges of the repeats do not overlap. `own`: it measures Drumbeat,
    not a baseline. `loss`: by how much B is worse, as a share of A; 0 if it is not, infinite if A is 0.
    """

    what: str
    figure: str
    a: dict[str, Any]
    b: dict[str, Any]
    change: float | None
    verdict: Verdict
    own: bool
    loss: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """The comparison. `differences`: of machine and load, in words. `other_load`: whether the loads differ.
    `missing`: the figures that are in one report only. `lost`: those of Drumbeat that B lacks.
    """

    rows: tuple[ComparedFigure, ...]
    differences: tuple[str, ...]
    missing: tuple[str, ...]
    other_load: bool
    lost: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        rows = [{name: value for name, value in asdict(row).items() if name != "loss"} for row in self.rows]
        found = {"rows": rows, "differences": self.differences, "missing": self.missing}
        return {"schema": 1, **found}

    def worse_than(self, share: float) -> tuple[ComparedFigure, ...]:
        """Return the figures of Drumbeat that are worse in B by more than this share of A.

        A change within the spread of the repeats is none. Baselines and ratios measure the machine too, so
        they do not count.
        """
        return tuple(
            row for row in self.rows if row.own and row.loss > share and row.verdict in ("worse", "no spread")
        )


def compare(a: dict[str, Any], b: dict[str, Any]) -> Comparison:
    """Compare B with A. Both are as `read_report` gives them."""
    missing = tuple(
        f"only {side} has {title}"
        for key in _PARTS
        for side, report, other in (("A", a, b), ("B", b, a))
        for name, title in _titles(report, key).items()
        if name not in _titles(other, key)
    )
    lost = tuple(
        title
        for key in _PARTS
        for name, title in _titles(a, key).items()
        if name not in _titles(b, key) and (key != "senders" or name in _OWN)
    )
    loads = tuple(_load_changes(a, b))
    differences = (*_differences(a, b), *loads, *_machine_changes(a, b))
    return Comparison(tuple(_rows(a, b)), differences, missing, bool(loads), lost)


def _titles(report: dict[str, Any], key: str) -> dict[str, str]:
    return {entry["name"]: entry["title"] for entry in _entries(report, key)}


def _entries(report: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """Return the entries of a part of a report; for scaling, the rows of its tables."""
    found: list[dict[str, Any]] = report[key]
    return [row for table in found for row in table["rows"]] if key == "scaling" else found


def _rows(a: dict[str, Any], b: dict[str, Any]) -> Iterator[ComparedFigure]:
    for in_a, in_b in _pairs(a, b, "senders"):
        title, own = in_a["title"], in_a["name"] in _OWN
        yield from _figures(title, _SENDER, in_a, in_b, own=own)
        yield from _figures(title, _LATENCY, _latency(in_a), _latency(in_b), own=own)
        yield from _figures(title, _RATIOS, in_a["engine_ratio"] or {}, in_b["engine_ratio"] or {}, own=False)
    for in_a, in_b in _pairs(a, b, "pace"):
        title = f"pace of {in_a['title']}"
        yield from _figures(title, _PACE, in_a, in_b)
        if in_a["name"] not in _titles(a, "senders"):  # else they stand there
            yield from _figures(title, _LATENCY, _latency(in_a), _latency(in_b))
    for key, figures in (("stages", _STAGE), ("scaling", _SCALED)):
        for in_a, in_b in _pairs(a, b, key):
            yield from _figures(in_a["title"], figures, in_a, in_b)


def _latency(entry: dict[str, Any]) -> dict[str, Any]:
    """Return the reply times by percentile. Older reports have those of one repeat only."""
    if "latency_spread_ms" in entry:
        return dict(entry["latency_spread_ms"])
    return {
        name: {"median": value, "least": value, "most": value, "values": [value]}
        for name, value in entry["latency_ms"].items()
    }


def _figures(
    what: str, figures: Sequence[Figure], a: dict[str, Any], b: dict[str, Any], *, own: bool = True
) -> Iterator[ComparedFigure]:
    for figure in figures:
        yield from _row(what, figure, a.get(figure.key), b.get(figure.key), own=own)


def _pairs(a: dict[str, Any], b: dict[str, Any], key: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    others = {entry["name"]: entry for entry in _entries(b, key)}
    for entry in _entries(a, key):
        if entry["name"] in others:
            yield entry, others[entry["name"]]


def _row(what: str, figure: Figure, a: Any, b: Any, *, own: bool) -> Iterator[ComparedFigure]:
    if a is None or b is None:
        return
    change = None if not a["median"] else (b["median"] - a["median"]) / a["median"]
    verdict, more_is_better = _verdict(a, b, figure.more_is_better), figure.more_is_better
    loss = _loss(a["median"], b["median"], more_is_better)
    yield ComparedFigure(what, figure.title, a, b, change, verdict, own and figure.key not in _RELATIVE, loss)


def _loss(a: float, b: float, more_is_better: bool) -> float:
    """Return by how much B is worse than A, as a share of A."""
    by = max(0.0, a - b if more_is_better else b - a)
    return by / a if a else math.inf if by else 0.0


def _verdict(a: dict[str, Any], b: dict[str, Any], more_is_better: bool) -> Verdict:
    if a["values"] == b["values"]:
        return "same"
    if min(len(a["values"]), len(b["values"])) < REPEATS_MIN:
        return "no spread"
    if a["least"] <= b["most"] and b["least"] <= a["most"]:
        return "within the spread"
    return "better" if (b["least"] > a["most"]) == more_is_better else "worse"


def _machine_changes(a: dict[str, Any], b: dict[str, Any]) -> Iterator[str]:
    """Yield the changes of the machine. A baseline does not change with Drumbeat: if its CPU changed, the
    machine did.
    """
    for in_a, in_b in _pairs(a, b, "senders"):
        if in_a["name"] in (*_OWN, ENGINE_TRANSPORT):
            continue
        for row in _row(in_a["title"], _CPU, in_a["cpu_us"], in_b["cpu_us"], own=False):
            if row.verdict in ("better", "worse") and row.change is not None:
                used = f'the baseline "{row.what}" used {100 * row.change:+.1f} % CPU'
                yield f"machine: {used}; compare the ratios instead"


def _differences(a: dict[str, Any], b: dict[str, Any]) -> Iterator[str]:
    if a.get("service") != b.get("service"):
        yield f"service: {a.get('service')} and {b.get('service')}"
    for name in _CONDITIONS:
        in_a, in_b = a["conditions"].get(name), b["conditions"].get(name)
        if in_a != in_b:
            yield f"{name}: {in_a} and {in_b}"
    loads = a["conditions"]["load"], b["conditions"]["load"]
    if abs(loads[0] - loads[1]) > LOAD_DIFFERENCE:
        yield f"load average: {loads[0]} and {loads[1]}"


def _load_changes(a: dict[str, Any], b: dict[str, Any]) -> Iterator[str]:
    """Yield the differences of what was sent: of both reports, and of each pace that both have."""
    for name in a["load"]:
        if a["load"][name] != b["load"].get(name):
            yield f"load, {name}: {a['load'][name]} and {b['load'].get(name)}"
    for in_a, in_b in _pairs(a, b, "pace"):
        if in_a["name"] not in _titles(a, "senders") and in_a["load"] != in_b["load"]:
            yield f"load of {in_a['title']} and of {in_b['title']}"
