"""A report in words and figures, the same on the terminal and on the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from campaigns.bench.compare import Comparison, Row
from campaigns.bench.report import FULL_SHARE, OWN_SERVICE

Table = tuple[tuple[str, ...], Sequence[tuple[str, ...]]]
"""Headings and rows."""


def rate(spread: dict[str, Any] | None) -> str:
    """`10,957 (10,650–11,020)`; a dash where it is not known."""
    return _spread(spread, lambda value: f"{value:,.0f}" if value >= 100 else f"{value:,.1f}")


def micros(spread: dict[str, Any] | None) -> str:
    return _spread(spread, lambda value: f"{value:,.1f}")


def times(spread: dict[str, Any] | None) -> str:
    return _spread(spread, lambda value: f"{value:,.2f}", " ×")


def share(spread: dict[str, Any] | None) -> str:
    return _spread(spread, lambda value: f"{100 * value:.2f}", " %")


def _spread(spread: dict[str, Any] | None, form: Any, unit: str = "") -> str:
    if spread is None:
        return "–"
    median, least, most = (form(spread[name]) for name in ("median", "least", "most"))
    return f"{median}{unit}" + ("" if least == most else f" ({least}–{most})")


def load_line(load: dict[str, Any]) -> str:
    """`32 numbers at 1,000/s each, 20 ms latency, 10 s`."""
    numbers = "one number" if load["numbers"] == 1 else f"{load['numbers']} numbers"
    each = "" if load["numbers"] == 1 else " each"
    parts = [f"{numbers} at {load['rate_per_s']:,g}/s{each}", _latency(load["latency_ms"])]
    if load["processes"] > 1:
        parts.append(f"{load['processes']} processes")
    if load["events"]:
        parts.append("three status events a message")
    return ", ".join([*parts, f"{load['duration_s']:g} s"])


def _latency(latency_ms: float | None) -> str:
    return "latency as the emulator has it" if latency_ms is None else f"latency {latency_ms:g} ms"


def contestants_table(report: dict[str, Any]) -> Table:
    """Everybody's rate and cost, and how many times faster and cheaper the engine is."""
    rows = []
    for one in report["contestants"]:
        ratio = one["engine_is"] or {}
        figures = (rate(one["per_s"]), micros(one["cpu_us"]), micros(one["database_us"]))
        rows.append((one["title"], *figures, times(ratio.get("by_rate")), times(ratio.get("by_cpu"))))
    return ("", "messages/s", "CPU µs each", "Postgres µs each", "engine is", "by CPU"), rows


def pace_table(report: dict[str, Any]) -> Table:
    """How near to the limit, and whether it was touched. 100 % is the limit itself."""
    rows = [
        (
            load_line(one["load"]),
            share(one["reached"]),
            share(one["largest_written"]),
            share(one["largest_at_service"]),
            share(one["throttled"]),
        )
        for one in report["pace"]
    ]
    return ("", "of the limit", "largest second written", "at the service", "throttled"), rows


def stages_table(report: dict[str, Any]) -> Table:
    """What is not sending, each beside its yardstick."""
    rows = [
        (
            one["title"],
            rate(one["per_s"]),
            micros(one["cpu_us"]),
            micros(one["database_us"]),
            _spread(one["p99_ms"], lambda value: f"{value:,.1f}"),
            one["yardstick"]["title"],
            rate(one["yardstick"]["per_s"]),
            _spread(one["of_yardstick"], lambda value: f"{value:,.2f}", " ×"),
        )
        for one in report["stages"]
    ]
    headings = (
        "",
        "per second",
        "CPU µs each",
        "Postgres µs each",
        "p99 ms",
        "yardstick",
        "per second",
        "is",
    )
    return headings, rows


def scaling_table(table: dict[str, Any]) -> Table:
    """What a message costs, row by row, against the first of them."""
    rows = [
        (
            one["title"] + ("" if one["reached"] else " (did not reach its rate)"),
            micros(one["cpu_us"]),
            times(one["times_first"]),
            rate(one["per_s"]),
            f"{100 * one['full']['median']:.0f} %",
        )
        for one in table["rows"]
    ]
    return ("", "CPU µs a message", "of the first", "messages/s", "of the service's core"), rows


# What the figures of `latency_table` begin and end with.
LATENCY_NOTE = (
    "The engine's are of a sample, from the write to the reply; a yardstick's are of all its requests, from"
    " the call to the reply."
)


def latency_table(report: dict[str, Any]) -> Table:
    """The time of single requests, of the repeat with the median rate."""
    contestants = {one["name"] for one in report["contestants"]}
    alone = [one for one in report["pace"] if one["name"] not in contestants]
    known = [one for one in (*report["contestants"], *alone) if one["latency_ms"]]
    names = tuple(known[0]["latency_ms"]) if known else ()
    rows = [(one["title"], *(f"{one['latency_ms'][name]:,.2f}" for name in names)) for one in known]
    return ("ms to the reply", *names), rows


def headline(report: dict[str, Any]) -> str:
    """The result in a sentence or two."""
    if not report["contestants"] and report["pace"]:
        (one,) = report["pace"]
        return f"The engine reached {share(one['reached'])} of the limit ({load_line(one['load'])})."
    if not report["contestants"]:
        said = "; ".join(_other_lines(report))
        return f"{said[0].upper()}{said[1:]}."
    engine, *others = report["contestants"]
    said = (
        f"The engine sent {engine['per_s']['median']:,.0f} messages/s at {engine['cpu_us']['median']:,.0f} µs"
    )
    said += " of CPU each, every one of them durable"
    by_name = {one["name"]: one["engine_is"] for one in others}
    plain, naive = by_name.get("session_loop"), by_name.get("naive_script")
    if not plain or not naive:
        return f"{said}."
    if _at_limit(report):
        return f"{said}, as its limits permit ({share(report['pace'][0]['reached'])} of them)."
    return (
        f"{said}: {plain['by_rate']['median']:.1f} × a plain session loop that stores nothing"
        f" ({plain['by_cpu']['median']:.1f} × by CPU), {naive['by_rate']['median']:.1f} × a first script"
        f" ({naive['by_cpu']['median']:.1f} × by CPU)."
    )


def _other_lines(report: dict[str, Any]) -> Iterator[str]:
    for one in report["stages"]:
        yield f"{one['title']}: {one['per_s']['median']:,.0f} {one['unit']}/s"
    for table in report["scaling"]:
        first, last = table["rows"][0], table["rows"][-1]
        cost = f"{last['times_first']['median']:.2f} × as much"
        yield f"a message costs {cost} with {last['title']} as with {first['title']}"


def notes(report: dict[str, Any]) -> Iterator[str]:
    """What a reader must know before believing the figures."""
    headroom, load = report["headroom"], report["load"]
    if headroom is not None:
        yield _headroom_line(headroom)
        if headroom["enough"] and not _at_limit(report) and _sender_share(headroom) < FULL_SHARE:
            full = f"{100 * _sender_share(headroom):.0f} %"
            yield (
                f"The engine's own core was {full} full: it waited, for replies, for this machine's disk or"
                " for programs beside it. Judge it by its CPU for each message."
            )
    if _at_limit(report):
        yield (
            "The engine's rate was its limit and says nothing about what it could send, and its start weighs"
            " on the CPU of few messages: for a comparison give it more numbers."
        )
    yield from _pace_notes(report)
    if load["processes"] > 1 and report["contestants"]:
        yield "The yardsticks are one process each, whatever the engine had."
    if report["repeats"] == 1:
        yield "One repeat: the figures have no spread, and a difference to another report means little."
    if report["stages"]:
        yield _STAGES_NOTE
    for one in report["contestants"]:
        if one["events"] is not None:
            events = one["events"]
            cpu_us = events["cpu_s"] / events["folded"] * 1e6
            late = f"the last {events['late_s']:.1f} s after the last message"
            took = f"their receiver took {cpu_us:.1f} µs of CPU each, beside the emulator"
            yield f"{events['folded']:,} status events were received and folded, {late}; {took}."


def _pace_notes(report: dict[str, Any]) -> Iterator[str]:
    for one in report["pace"]:
        line, seconds = load_line(one["load"]), (one["largest_written"], one["largest_at_service"])
        if any(second is not None and second["most"] > 1 for second in seconds):
            yield f"{line}: a second held more than the limit, which must not be."
        elif one["reached"] is not None and one["reached"]["most"] > 1:
            yield f"{line}: a mean above 100 % makes up for a late start; no second was above the limit."


_AT_LIMIT = 0.95
_STAGES_NOTE = (
    "A plan has every core; a receiver has the sender's, and what posts to it shares the other with Postgres."
)


def _sender_share(headroom: dict[str, Any]) -> float:
    return float(headroom["sender_share"]["median"])


def _at_limit(report: dict[str, Any]) -> bool:
    reached = next((one["reached"] for one in report["pace"] if one["name"] == "engine"), None)
    return reached is not None and bool(reached["median"] > _AT_LIMIT)


def _headroom_line(headroom: dict[str, Any]) -> str:
    database = f"Postgres {100 * headroom['database_share']['median']:.0f} %"
    if headroom["service_share"] is None:
        return f"While the engine sent, {database} of a core; the emulator does not tell what it took."
    service = f"the emulator took {100 * headroom['service_share']['median']:.0f} % of a core, {database}"
    alone = f"a core of its own would carry {headroom['could_carry_per_s']['median']:,.0f} messages/s"
    verdict = (
        "so there was headroom"
        if headroom["enough"]
        else "so their core was nearly full: the engine may have been held back"
    )
    return f"While the engine sent, {service}, {verdict}. The emulator on {alone}."


def conditions_rows(report: dict[str, Any]) -> list[tuple[str, str]]:
    """What the figures were measured on, and how to measure them again."""
    on = report["conditions"]
    return [
        ("machine", f"{on['processor']}, {on['cores']} cores, {on['system']}"),
        ("placement", on["placement"]),
        ("load before, 1 min", f"{on['load']:.2f}"),
        ("Python", on["python"]),
        ("date", on["date"]),
        ("command", on["command"]),
        ("sent", "; ".join(load_line(one["load"]) for one in report["pace"]) or "–"),
        ("repeats", f"{report['repeats']}; the median, in brackets the range"),
        ("service", _service(report)),
        ("made by", report["made_by"]),
    ]


def _service(report: dict[str, Any]) -> str:
    if not (report["pace"] or report["scaling"]):
        return "–"
    return "an emulator of its own" if report["service"] == OWN_SERVICE else str(report["service"])


# Of what is compared; the others are microseconds or milliseconds.
_FORMS = {
    "messages/s": rate,
    "per second": rate,
    "engine is, by rate": times,
    "engine is, by CPU": times,
    "is of its yardstick": times,
    "of the first row": times,
    "of the limit reached": share,
    "of requests throttled": share,
}


def comparison_table(found: Comparison) -> Table:
    """B against A."""
    return ("", "figure", "A", "B", "change", "verdict"), [_compared(row) for row in found.rows]


def _compared(row: Row) -> tuple[str, ...]:
    form = _FORMS.get(row.figure, micros)
    change = "–" if row.change is None else f"{100 * row.change:+.1f} %"
    return row.what, row.figure, form(row.a), form(row.b), change, row.verdict
