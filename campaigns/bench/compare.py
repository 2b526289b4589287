"""Two reports side by side: what changed, by how much, and whether the repeats scatter less than that."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

from campaigns.bench.report import ENGINE, ENGINE_ALONE

Verdict = Literal["better", "worse", "within the spread", "no spread", "same"]
REPEATS_MIN = 2  # of each report, for a spread
# (figure, what it is called, whether more is better)
_CONTESTANT = (
    ("per_s", "messages/s", True),
    ("cpu_us", "CPU µs a message", False),
    ("database_us", "Postgres CPU µs a message", False),
)
_RATIOS = (("by_rate", "engine is, by rate", True), ("by_cpu", "engine is, by CPU", True))
_STAGE = (
    ("per_s", "per second", True),
    ("cpu_us", "CPU µs each", False),
    ("database_us", "Postgres CPU µs each", False),
    ("of_yardstick", "is of its yardstick", True),
    ("p99_ms", "p99 ms", False),
)
_SCALED = (("cpu_us", "CPU µs a message", False), ("times_first", "of the first row", False))
_PACE = (("reached", "of the limit reached", True), ("throttled", "of requests throttled", False))
LANES = "lanes_alone"  # the engine's own connections: no yardstick between two versions of it
LOAD_APART = 1.0  # a core's worth of other work in one of the two
_CONDITIONS = ("processor", "cores", "placement", "python", "system")


@dataclass(frozen=True, slots=True)
class Row:
    """One figure of both reports. `change`: of B against A, as a share of A; None where A is 0.

    `verdict`: better or worse only where the ranges of the repeats do not touch.
    """

    what: str
    figure: str
    a: dict[str, Any]
    b: dict[str, Any]
    change: float | None
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Comparison:
    """`differences`: of machine and load, in words; `missing`: what only one report holds."""

    rows: tuple[Row, ...]
    differences: tuple[str, ...]
    missing: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        return {"schema": 1, **asdict(self)}


def compare(a: dict[str, Any], b: dict[str, Any]) -> Comparison:
    """B against A; both as `read_report` gives them."""
    missing = tuple(
        f"only {side} has {title}"
        for key in ("contestants", "pace", "stages", "scaling")
        for side, some, other in (("A", a, b), ("B", b, a))
        for name, title in _titles(some, key).items()
        if name not in _titles(other, key)
    )
    differences = (*_differences(a, b), *_moved(a, b))
    return Comparison(tuple(_rows(a, b)), differences, missing)


def _titles(report: dict[str, Any], key: str) -> dict[str, str]:
    return {one["name"]: one["title"] for one in _ones(report, key)}


def _ones(report: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """What a part of a report holds; of the tables of scaling, their rows."""
    found: list[dict[str, Any]] = report[key]
    return [row for table in found for row in table["rows"]] if key == "scaling" else found


def _rows(a: dict[str, Any], b: dict[str, Any]) -> Iterator[Row]:
    for ours, theirs in _pairs(a, b, "contestants"):
        for figure, words, more in _CONTESTANT:
            yield from _row(ours["title"], words, ours[figure], theirs[figure], more)
        ratios = ours["engine_is"] or {}, theirs["engine_is"] or {}
        for figure, words, more in _RATIOS:
            yield from _row(ours["title"], words, ratios[0].get(figure), ratios[1].get(figure), more)
    for ours, theirs in _pairs(a, b, "pace"):
        for figure, words, more in _PACE:
            yield from _row(f"pace of {ours['title']}", words, ours[figure], theirs[figure], more)
    for ours, theirs in _pairs(a, b, "stages"):
        for figure, words, more in _STAGE:
            yield from _row(ours["title"], words, ours[figure], theirs[figure], more)
    for ours, theirs in _pairs(a, b, "scaling"):
        for figure, words, more in _SCALED:
            yield from _row(ours["title"], words, ours[figure], theirs[figure], more)


def _pairs(a: dict[str, Any], b: dict[str, Any], key: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    others = {one["name"]: one for one in _ones(b, key)}
    for one in _ones(a, key):
        if one["name"] in others:
            yield one, others[one["name"]]


def _row(what: str, figure: str, a: Any, b: Any, more_is_better: bool) -> Iterator[Row]:
    if a is None or b is None:
        return
    change = None if not a["median"] else (b["median"] - a["median"]) / a["median"]
    yield Row(what, figure, a, b, change, _verdict(a, b, more_is_better))


def _verdict(a: dict[str, Any], b: dict[str, Any], more_is_better: bool) -> Verdict:
    if a["values"] == b["values"]:
        return "same"
    if min(len(a["values"]), len(b["values"])) < REPEATS_MIN:
        return "no spread"
    if a["least"] <= b["most"] and b["least"] <= a["most"]:
        return "within the spread"
    return "better" if (b["least"] > a["most"]) == more_is_better else "worse"


def _moved(a: dict[str, Any], b: dict[str, Any]) -> Iterator[str]:
    """Yardsticks do not change with Drumbeat: when one costs something else, the machine does."""
    for ours, theirs in _pairs(a, b, "contestants"):
        if ours["name"] in (ENGINE, ENGINE_ALONE, LANES):
            continue
        for row in _row(ours["title"], "", ours["cpu_us"], theirs["cpu_us"], more_is_better=False):
            if row.verdict in ("better", "worse") and row.change is not None:
                took = f'the yardstick "{row.what}" took {100 * row.change:+.1f} % CPU'
                yield f"the machine: {took}; trust the ratios"


def _differences(a: dict[str, Any], b: dict[str, Any]) -> Iterator[str]:
    if a.get("service") != b.get("service"):
        yield f"service: {a.get('service')} and {b.get('service')}"
    for name in _CONDITIONS:
        ours, theirs = a["conditions"].get(name), b["conditions"].get(name)
        if ours != theirs:
            yield f"{name}: {ours} and {theirs}"
    for name in a["load"]:
        if a["load"][name] != b["load"].get(name):
            yield f"load, {name}: {a['load'][name]} and {b['load'].get(name)}"
    loads = a["conditions"]["load"], b["conditions"]["load"]
    if abs(loads[0] - loads[1]) > LOAD_APART:
        yield f"load of the machine: {loads[0]} and {loads[1]}"
