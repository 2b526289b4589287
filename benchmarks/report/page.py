"""The page of a report: one HTML file with its script inside, so that it opens offline and can be mailed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment, PackageLoader
from plotly.offline import get_plotlyjs

from drumbeat.benchmarks.report.charts import Bar, Chart, bars, histogram, lines
from drumbeat.benchmarks.report.content import ENGINE
from drumbeat.benchmarks.report.text import (
    Table,
    conditions_rows,
    headline,
    latency_tables,
    load_line,
    notes,
    pace_table,
    scaling_table,
    senders_table,
    stages_table,
    warnings,
)

_FIGURE = re.compile(r"(\d) (ms|s|µs|%|×)(?!\w)")
LINES_MAX = 64  # more lines cannot be told apart


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, a line below it, charts and tables."""

    title: str
    line: str = ""
    charts: tuple[Chart, ...] = ()
    tables: tuple[Table, ...] = ()


def page_of(report: dict[str, Any]) -> str:
    """Return the whole page."""
    environment = Environment(
        loader=PackageLoader("drumbeat.benchmarks.report", "."),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["unbroken"] = unbroken
    return environment.get_template("page.html.j2").render(
        date=report["conditions"]["date"],
        load=load_line(report["pace"][0]["load"]) if report["pace"] else "",
        warnings=list(warnings(report)),
        headline=headline(report),
        notes=list(notes(report)),
        sections=list(_sections(report)),
        conditions=conditions_rows(report),
        script=get_plotlyjs(),
    )


def unbroken(text: str) -> str:
    """Keep a figure and its unit on one line."""
    return _FIGURE.sub("\\1\u00a0\\2", text)


def _sections(report: dict[str, Any]) -> Iterator[Section]:
    if report["senders"]:
        rates = _sender_bars(report, "per_s", _per_second, "messages a second of each sender")
        costs = _sender_bars(report, "cpu_us", _micros, "CPU for each message")
        tables = (senders_table(report),)
        yield Section("Messages a second", charts=(rates,))
        yield Section("CPU of the sender for each message", "Shorter is better.", (costs,), tables)
    for pace in report["pace"]:
        if pace["by_second"]:
            yield _pace(pace)
    if report["pace"]:
        yield Section("Pace and limit", tables=(pace_table(report),))
    yield from _latency(report)
    if report["stages"]:
        charts = tuple(_stage_bars(stage) for stage in report["stages"])
        yield Section("Before and after the sending", charts=charts, tables=(stages_table(report),))
    for table in report["scaling"]:
        yield _scaling(table)


def _per_second(value: float) -> str:
    return f"{value:,.0f}/s"


def _micros(value: float) -> str:
    return f"{value:,.1f} µs"


def _sender_bars(report: dict[str, Any], figure: str, form: Callable[[float], str], about: str) -> Chart:
    rows = [
        _bar(sender["title"], sender[figure], form, is_engine=sender["name"] == ENGINE)
        for sender in report["senders"]
    ]
    return bars(rows, about=about)


def _bar(title: str, spread: dict[str, Any], form: Callable[[float], str], *, is_engine: bool) -> Bar:
    median = spread["median"]
    return Bar(title, median, form(median), spread["least"], spread["most"], is_engine=is_engine)


def _stage_bars(stage: dict[str, Any]) -> Chart:
    rows = [
        _bar(f"{stage['title']}, {stage['unit']}", stage["per_s"], _per_second, is_engine=True),
        _bar(stage["baseline"]["title"], stage["baseline"]["per_s"], _per_second, is_engine=False),
    ]
    return bars(rows, about=f"{stage['title']}: {stage['unit']} a second beside the baseline")


def _scaling(table: dict[str, Any]) -> Section:
    rows = [_bar(row["title"], row["cpu_us"], _micros, is_engine=True) for row in table["rows"]]
    chart = bars(rows, about=f"CPU for each message by {table['name']}")
    title = f"Cost of a message by {table['name']}"
    return Section(title, "CPU of the sender. Shorter is better.", (chart,), (scaling_table(table),))


def _pace(pace: dict[str, Any]) -> Section:
    """Return the section of the messages in each second, without the last second, which is not a
    whole one.
    """
    load, numbers = pace["load"], pace["by_second"]
    whole = {name: counts[:-1] or counts for name, counts in list(numbers.items())[:LINES_MAX]}
    each = lines(whole, load["rate_per_s"], about="each number against its limit, second by second")
    title = f"Second by second: {load_line(load)}"
    if len(numbers) == 1:
        return Section(title, "Messages in each second. The dashed line is the limit.", (each,))
    total = [sum(counts) for counts in zip(*numbers.values(), strict=True)]
    together = lines(
        {"all numbers": total[:-1] or total}, load["total_per_s"], about="all numbers, second by second"
    )
    line = (
        "Messages in each second: first all numbers together, then a line for each of"
        f" {len(whole)} numbers. The dashed line is the limit."
    )
    return Section(title, line, (together, each))


def _latency(report: dict[str, Any]) -> Iterator[Section]:
    tables = tuple(latency_tables(report))
    charts = tuple(
        histogram(sender["histogram_ms"], about=f"reply times of {sender['title']}")
        for sender in report["senders"]
        if sender["name"] == ENGINE and sender["histogram_ms"]
    )
    if tables:
        line = "The chart shows the engine's requests by their reply time." if charts else ""
        yield Section("Reply times", line, charts, tables)
