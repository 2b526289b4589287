"""The comparison of two reports: the changes, their sizes, and whether they exceed the spread of the
repeats.
"""

from __future__ import annotations

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


_SENDER = (
    Figure("per_s", "messages/s", True),
    Figure("cpu_us", "CPU µs a message", False),
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
    Figure("cpu_us", "CPU µs a message", False),
    Figure("times_first", "CPU ÷ first row's CPU", False),
)
_PACE = (
    Figure("reached", "share of the limit", True),
    Figure("throttled", "throttled requests", False),
)
ENGINE_TRANSPORT = "engine_transport"  # part of Drumbeat, so no measure of the machine
LOAD_DIFFERENCE = 1.0  # a core that was busy with other work in one of the two
_CONDITIONS = ("processor", "cores", "placement", "python", "system")


@dataclass(frozen=True, slots=True)
class ComparedFigure:
    """One figure of both reports. `change`: from A to B, as a share of A; None if A is 0.

    `verdict`: better or worse only if the ranges of the repeats do not overlap.
    """

    what: str
    figure: str
    a: dict[str, Any]
    b: dict[str, Any]
    change: float | None
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Comparison:
    """The comparison. `differences`: of machine and load, in words. `missing`: the figures that are in one
    report only.
    """

    rows: tuple[ComparedFigure, ...]
    differences: tuple[str, ...]
    missing: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        return {"schema": 1, **asdict(self)}


def compare(a: dict[str, Any], b: dict[str, Any]) -> Comparison:
    """Compare B with A. Both are as `read_report` gives them."""
    missing = tuple(
        f"only {side} has {title}"
        for key in ("senders", "pace", "stages", "scaling")
        for side, report, other in (("A", a, b), ("B", b, a))
        for name, title in _titles(report, key).items()
        if name not in _titles(other, key)
    )
    differences = (*_differences(a, b), *_machine_changes(a, b))
    return Comparison(tuple(_rows(a, b)), differences, missing)


def _titles(report: dict[str, Any], key: str) -> dict[str, str]:
    return {entry["name"]: entry["title"] for entry in _entries(report, key)}


def _entries(report: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """Return the entries of a part of a report; for scaling, the rows of its tables."""
    found: list[dict[str, Any]] = report[key]
    return [row for table in found for row in table["rows"]] if key == "scaling" else found


def _rows(a: dict[str, Any], b: dict[str, Any]) -> Iterator[ComparedFigure]:
    for in_a, in_b in _pairs(a, b, "senders"):
        yield from _figures(in_a["title"], _SENDER, in_a, in_b)
        yield from _figures(in_a["title"], _RATIOS, in_a["engine_ratio"] or {}, in_b["engine_ratio"] or {})
    for in_a, in_b in _pairs(a, b, "pace"):
        yield from _figures(f"pace of {in_a['title']}", _PACE, in_a, in_b)
    for key, figures in (("stages", _STAGE), ("scaling", _SCALED)):
        for in_a, in_b in _pairs(a, b, key):
            yield from _figures(in_a["title"], figures, in_a, in_b)


def _figures(
    what: str, figures: Sequence[Figure], a: dict[str, Any], b: dict[str, Any]
) -> Iterator[ComparedFigure]:
    for figure in figures:
        yield from _row(what, figure.title, a.get(figure.key), b.get(figure.key), figure.more_is_better)


def _pairs(a: dict[str, Any], b: dict[str, Any], key: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    others = {entry["name"]: entry for entry in _entries(b, key)}
    for entry in _entries(a, key):
        if entry["name"] in others:
            yield entry, others[entry["name"]]


def _row(what: str, figure: str, a: Any, b: Any, more_is_better: bool) -> Iterator[ComparedFigure]:
    if a is None or b is None:
        return
    change = None if not a["median"] else (b["median"] - a["median"]) / a["median"]
    yield ComparedFigure(what, figure, a, b, change, _verdict(a, b, more_is_better))


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
        if in_a["name"] in (ENGINE, ENGINE_ALONE, ENGINE_TRANSPORT):
            continue
        for row in _row(in_a["title"], "", in_a["cpu_us"], in_b["cpu_us"], more_is_better=False):
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
    for name in a["load"]:
        if a["load"][name] != b["load"].get(name):
            yield f"load, {name}: {a['load'][name]} and {b['load'].get(name)}"
    loads = a["conditions"]["load"], b["conditions"]["load"]
    if abs(loads[0] - loads[1]) > LOAD_DIFFERENCE:
        yield f"load average: {loads[0]} and {loads[1]}"
