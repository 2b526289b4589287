"""A report as text: its tables, its result in a sentence, and its warnings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from drumbeat.benchmarks.report.compare import ComparedFigure, Comparison
from drumbeat.benchmarks.report.content import ENGINE, ENGINE_ALONE, FULL_SHARE, OWN_EMULATOR

LOAD_MAX = 0.5  # of other programs, before the run; above it they took a part of a core that was measured
AT_LIMIT_SHARE = 0.95


@dataclass(frozen=True, slots=True)
class Table:
    """A table. `headings` and the cells of each row have the same length; the first cell names the row."""

    caption: str
    headings: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


def rate(spread: dict[str, Any] | None) -> str:
    """Return `10,957 (10,650–11,020)`, or a dash if the figure is not known."""
    return _spread(spread, lambda value: f"{value:,.0f}" if value >= 100 else f"{value:,.1f}")


def micros(spread: dict[str, Any] | None) -> str:
    return _spread(spread, lambda value: f"{value:,.1f}")


def times(spread: dict[str, Any] | None) -> str:
    return _spread(spread, lambda value: f"{value:,.2f}", " ×")


def share(spread: dict[str, Any] | None) -> str:
    return _spread(spread, lambda value: f"{100 * value:.2f}", " %")


def _spread(spread: dict[str, Any] | None, form: Callable[[float], str], unit: str = "") -> str:
    if spread is None:
        return "–"
    median, least, most = (form(spread[name]) for name in ("median", "least", "most"))
    return f"{median}{unit}" + ("" if least == most else f" ({least}–{most})")


def load_line(load: dict[str, Any]) -> str:
    """Return `32 numbers at 1,000/s each, latency 20 ms, 10 s`."""
    numbers = "one number" if load["numbers"] == 1 else f"{load['numbers']} numbers"
    each = "" if load["numbers"] == 1 else " each"
    latency_ms = load["latency_ms"]
    latency = "latency set by the emulator" if latency_ms is None else f"latency {latency_ms:g} ms"
    if load.get("jitter"):
        latency += f" (lognormal, sigma {load['jitter']:g})"
    parts = [f"{numbers} at {load['rate_per_s']:,g}/s{each}", latency]
    if load["processes"] > 1:
        parts.append(f"{load['processes']} processes")
    if load.get("tls"):
        parts.append("by HTTPS")
    if load["events"]:
        parts.append("three status events a message")
    return ", ".join([*parts, f"{load['duration_s']:g} s"])


# ---- tables


def senders_table(report: dict[str, Any]) -> Table:
    rows = []
    for sender in report["senders"]:
        ratio = sender["engine_ratio"] or {}
        figures = (rate(sender["per_s"]), micros(sender["cpu_us"]), micros(sender["database_us"]))
        rows.append((sender["title"], *figures, times(ratio.get("by_rate")), times(ratio.get("by_cpu"))))
    headings = (
        "sender",
        "messages/s",
        "CPU µs each",
        "Postgres µs each",
        "engine's rate ÷ this rate",
        "this CPU ÷ engine's CPU",
    )
    caption = (
        f"Median of {_repeats(report)}, with the range. Both ratios compare the engine with the sender of the"
        " row; above 1 the engine is faster, or uses less CPU."
    )
    return Table(caption, headings, rows)


def pace_table(report: dict[str, Any]) -> Table:
    rows = [
        (
            load_line(pace["load"]),
            share(pace["reached"]),
            share(pace["largest_written"]),
            share(pace["largest_at_service"]),
            share(pace["throttled"]),
        )
        for pace in report["pace"]
    ]
    headings = (
        "load",
        "share of the limit",
        "fullest second, written",
        "fullest second, at the emulator",
        "throttled",
    )
    return Table("The pace as a share of the limit; 100 % is the limit itself.", headings, rows)


def stages_table(report: dict[str, Any]) -> Table:
    rows = [
        (
            stage["title"],
            rate(stage["per_s"]),
            micros(stage["cpu_us"]),
            micros(stage["database_us"]),
            micros(stage["p99_ms"]),
            stage["baseline"]["title"],
            rate(stage["baseline"]["per_s"]),
            times(stage["of_baseline"]),
        )
        for stage in report["stages"]
    ]
    headings = (
        "stage",
        "per second",
        "CPU µs each",
        "Postgres µs each",
        "p99 ms",
        "baseline",
        "baseline per second",
        "rate ÷ baseline's rate",
    )
    return Table("Each stage beside its baseline, measured in the same run.", headings, rows)


def scaling_table(table: dict[str, Any]) -> Table:
    rows = [
        (
            row["title"] + ("" if row["reached"] else " (did not reach its rate)"),
            micros(row["cpu_us"]),
            times(row["times_first"]),
            rate(row["per_s"]),
            f"{100 * row['full']['median']:.0f} %",
        )
        for row in table["rows"]
    ]
    headings = (
        "load",
        "CPU µs a message",
        "CPU ÷ first row's CPU",
        "messages/s",
        "use of the service's core",
    )
    return Table("Each row is compared with the first, within each repeat.", headings, rows)


def latency_tables(report: dict[str, Any]) -> Iterator[Table]:
    """Yield reply times, of the repeat with the median rate. The engine's and the baselines' are not
    comparable.
    """
    engine = [found for found in report["senders"] if found["name"] in (ENGINE, ENGINE_ALONE)]
    baselines = [found for found in report["senders"] if found["name"] not in (ENGINE, ENGINE_ALONE)]
    names = {found["name"] for found in engine}
    paces = [pace for pace in report["pace"] if pace["name"] not in names]
    sampled = "Reply times of the engine in ms: a sample of its requests, from the write to the reply."
    yield from _latency_table(sampled, [*engine, *paces])
    timed = "Reply times of the baselines in ms: all requests, from the call of the client to the reply."
    yield from _latency_table(timed, baselines)


def _latency_table(caption: str, entries: list[dict[str, Any]]) -> Iterator[Table]:
    known = [entry for entry in entries if entry["latency_ms"]]
    if known:
        names = tuple(known[0]["latency_ms"])
        rows = [(entry["title"], *(f"{entry['latency_ms'][name]:,.2f}" for name in names)) for entry in known]
        yield Table(caption, ("sender", *names), rows)


def conditions_rows(report: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the conditions of the measurement, and the command that repeats it."""
    on = report["conditions"]
    return [
        ("machine", f"{on['processor']}, {on['cores']} cores, {on['system']}"),
        ("placement", on["placement"]),
        ("load average before", f"{on['load']:.2f}"),
        ("Python", on["python"]),
        ("date", on["date"]),
        ("command", on["command"]),
        ("sent", "; ".join(load_line(pace["load"]) for pace in report["pace"]) or "–"),
        ("repeats", f"{report['repeats']}; figures are medians, with the range in brackets"),
        ("service", _service(report)),
        ("made by", report["made_by"]),
    ]


def _service(report: dict[str, Any]) -> str:
    if not (report["pace"] or report["scaling"]):
        return "–"
    return "an emulator of its own" if report["service"] == OWN_EMULATOR else str(report["service"])


def _repeats(report: dict[str, Any]) -> str:
    return "one repeat" if report["repeats"] == 1 else f"{report['repeats']} repeats"


# ---- the result


def headline(report: dict[str, Any]) -> str:
    """Return the result in a sentence or two."""
    if not report["senders"] and report["pace"]:
        (pace,) = report["pace"]
        return f"The engine reached {share(pace['reached'])} of the limit ({load_line(pace['load'])})."
    if not report["senders"]:
        results = "; ".join(_other_results(report))
        return f"{results[0].upper()}{results[1:]}."
    engine, *baselines = report["senders"]
    result = (
        f"The engine sent {engine['per_s']['median']:,.0f} messages/s at {engine['cpu_us']['median']:,.0f} µs"
        " of CPU each, every one durable"
    )
    if _at_limit(report):
        return (
            f"{result}. Its limits permit no more: it reached {share(report['pace'][0]['reached'])} of them."
        )
    ratios = [
        f"{found['engine_ratio']['by_rate']['median']:.1f} × {_COMPARED[found['name']]}"
        f" ({found['engine_ratio']['by_cpu']['median']:.1f} × by CPU)"
        for found in baselines
        if found["name"] in _COMPARED
    ]
    return f"{result}: {', '.join(ratios)}." if ratios else f"{result}."


_COMPARED = {
    "plain_loop": "a plain aiohttp loop",
    "tuned_loop": "a tuned aiohttp loop",
    "first_script": "a first script",
}


def _other_results(report: dict[str, Any]) -> Iterator[str]:
    for stage in report["stages"]:
        yield f"{stage['title']}: {stage['per_s']['median']:,.0f} {stage['unit']}/s"
    for table in report["scaling"]:
        first, last = table["rows"][0], table["rows"][-1]
        cost = f"{last['times_first']['median']:.2f} × as much"
        yield f"a message costs {cost} with {last['title']} as with {first['title']}"


def _at_limit(report: dict[str, Any]) -> bool:
    reached = next((pace["reached"] for pace in report["pace"] if pace["name"] == ENGINE), None)
    return reached is not None and bool(reached["median"] > AT_LIMIT_SHARE)


# ---- warnings and notes


def warnings(report: dict[str, Any]) -> Iterator[str]:
    """Yield the reasons why the figures are doubtful. They belong above the result."""
    load, headroom = report["conditions"]["load"], report["headroom"]
    if load > LOAD_MAX:
        yield (
            f"Other programs were busy on this machine before the run (load average {load:.2f})."
            " The figures are lower than on an idle machine; measure again when it is idle."
        )
    if headroom is not None and headroom["enough"] is False:
        yield (
            "The core of emulator and Postgres was nearly full while the engine sent."
            " The engine can be faster than this figure."
        )
    for pace in report["pace"]:
        seconds = (pace["largest_written"], pace["largest_at_service"])
        if any(second is not None and second["most"] > 1 for second in seconds):
            yield f"{load_line(pace['load'])}: a second held more messages than the limit. This is a fault."


def notes(report: dict[str, Any]) -> Iterator[str]:
    """Yield the facts that a reader must know to judge the figures."""
    headroom = report["headroom"]
    if headroom is not None:
        yield _headroom_line(headroom)
        if headroom["enough"] and not _at_limit(report) and _sender_share(headroom) < FULL_SHARE:
            yield (
                f"The engine's own core was only {100 * _sender_share(headroom):.0f} % busy: it waited for"
                " replies, for the disk or for other programs. Judge it by its CPU for each message."
            )
    if _at_limit(report):
        yield (
            "The engine sent at its limit, so its rate does not show what it could send, and its start-up is"
            " a large part of the CPU of so few messages. Give it more numbers for a comparison."
        )
    for pace in report["pace"]:
        if pace["reached"] is not None and pace["reached"]["most"] > 1:
            yield (
                f"{load_line(pace['load'])}: a mean above 100 % makes up for a late start;"
                " no second was above the limit."
            )
    if report["load"]["processes"] > 1 and report["senders"]:
        yield "Each baseline runs in one process, also if the engine has several."
    if report["repeats"] == 1:
        yield "One repeat has no spread, so a difference from another report means little."
    if report["stages"]:
        yield (
            "A plan uses every core. A receiver has the sender's core; the load and Postgres share the other."
        )
    yield from _event_notes(report)


def _event_notes(report: dict[str, Any]) -> Iterator[str]:
    for sender in report["senders"]:
        if sender["events"] is not None:
            events = sender["events"]
            cpu_us = events["cpu_s"] / events["applied"] * 1e6
            yield (
                f"{events['applied']:,} status events were received and applied, the last"
                f" {events['late_s']:.1f} s after the last message; the receiver used {cpu_us:.1f} µs of CPU"
                " each, on the emulator's core."
            )


def _sender_share(headroom: dict[str, Any]) -> float:
    return float(headroom["sender_share"]["median"])


def _headroom_line(headroom: dict[str, Any]) -> str:
    share = headroom["database_share"]
    database = "" if share is None else f"Postgres used {100 * share['median']:.0f} %"
    if headroom["service_share"] is None:
        told = f"While the engine sent, {database} of a core; " if database else ""
        return f"{told}the emulator does not report its CPU."
    service = f"the emulator used {100 * headroom['service_share']['median']:.0f} % of a core"
    service += f" and {database}" if database else ""
    alone = f"{headroom['could_carry_per_s']['median']:,.0f} messages/s"
    headroom_left = "so there was headroom" if headroom["enough"] else "so their core was nearly full"
    could = f"On a core of its own, the emulator would carry {alone}."
    return f"While the engine sent, {service}, {headroom_left}. {could}"


# ---- the comparison of two reports

# By the title of a figure; the others are microseconds or milliseconds.
_FORMS = {
    "messages/s": rate,
    "per second": rate,
    "engine's rate ÷ this rate": times,
    "this CPU ÷ engine's CPU": times,
    "rate ÷ baseline's rate": times,
    "CPU ÷ first row's CPU": times,
    "share of the limit": share,
    "throttled requests": share,
}


def comparison_table(found: Comparison) -> Table:
    headings = ("measurement", "figure", "A", "B", "change", "verdict")
    return Table("Change from A to B.", headings, [_compared(row) for row in found.rows])


def _compared(row: ComparedFigure) -> tuple[str, ...]:
    form = _FORMS.get(row.figure, micros)
    change = "–" if row.change is None else f"{100 * row.change:+.1f} %"
    return row.what, row.figure, form(row.a), form(row.b), change, row.verdict
