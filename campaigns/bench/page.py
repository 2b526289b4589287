"""The page of a report: one file, nothing from elsewhere, no script."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from campaigns.bench.chart import Bar, Line, bars, histogram, lines, short
from campaigns.bench.words import (
    LATENCY_NOTE,
    Table,
    conditions_rows,
    contestants_table,
    headline,
    latency_table,
    load_line,
    notes,
    pace_table,
    scaling_table,
    stages_table,
)

_FIGURE = re.compile(r"(\d) (ms|s|µs|%|×)(?!\w)")
LINES_MAX = 64  # more lines than this are no picture


def page_of(report: dict[str, Any]) -> str:
    """The whole page."""
    template = Template((files("campaigns.bench") / "page.html").read_text("utf-8"))
    return template.substitute(date=escape(report["conditions"]["date"]), body="\n".join(_body(report)))


def _body(report: dict[str, Any]) -> Iterator[str]:
    yield "<h1>Drumbeat bench</h1>"
    sent = f"{load_line(report['pace'][0]['load'])}; " if report["pace"] else ""
    yield f'<p class="muted">{_escape(sent + report["conditions"]["date"])}</p>'
    yield f'<p class="large">{_escape(headline(report))}</p>'
    for note in notes(report):
        yield f"<p>{_escape(note)}</p>"
    if report["contestants"]:
        yield from _contestants(report)
    for one in report["pace"]:
        yield from _pace(one)
    if report["pace"]:
        yield _table(pace_table(report), "Pace as a share of the limit; 100 % is the limit itself.")
    yield from _latency(report)
    yield from _stages(report)
    for table in report["scaling"]:
        yield from _scaling(table)
    yield "<h2>Measured on</h2><dl>"
    for name, value in conditions_rows(report):
        shown = f"<code>{escape(value)}</code>" if name == "command" else _escape(value)
        yield f"<dt>{_escape(name)}</dt><dd>{shown}</dd>"
    yield "</dl>"


def _contestants(report: dict[str, Any]) -> Iterator[str]:
    yield "<h2>Messages a second</h2>"
    yield _bars(report, "per_s", lambda value: f"{value:,.0f}/s", "messages a second of each contestant")
    yield "<h2>CPU of the sender for each message</h2>"
    yield "<p class='muted'>Shorter is better.</p>"
    yield _bars(report, "cpu_us", lambda value: f"{value:,.1f} µs", "CPU for each message")
    compared = (
        "How many times its rate the engine reaches, and how many times less CPU it takes (below 1: more)."
    )
    yield _table(contestants_table(report), f"Median of {report['repeats']}, below it the range. {compared}")


def _bars(report: dict[str, Any], figure: str, form: Any, about: str) -> str:
    rows = [
        _bar(one["title"], one[figure], form, ours=one["name"] == "engine") for one in report["contestants"]
    ]
    return bars(rows, about=about)


def _bar(title: str, spread: dict[str, Any], form: Callable[[float], str], *, ours: bool) -> Bar:
    return Bar(title, spread["median"], form(spread["median"]), spread["least"], spread["most"], ours=ours)


def _stages(report: dict[str, Any]) -> Iterator[str]:
    if not report["stages"]:
        return
    yield "<h2>Before and after the sending</h2>"
    for one in report["stages"]:
        unit = one["unit"]
        rows = [
            _bar(f"{one['title']}, {unit}", one["per_s"], _rate_form, ours=True),
            _bar(one["yardstick"]["title"], one["yardstick"]["per_s"], _rate_form, ours=False),
        ]
        yield bars(rows, about=f"{one['title']}: {unit} a second beside the yardstick")
    yield _table(stages_table(report), "Each beside its yardstick, in the same run.")


def _rate_form(value: float) -> str:
    return f"{short(value)}/s"


def _scaling(table: dict[str, Any]) -> Iterator[str]:
    yield f"<h2>Cost of a message by {_escape(table['name'])}</h2>"
    yield "<p class='muted'>CPU of the sender. Shorter is better.</p>"
    rows = [
        _bar(one["title"], one["cpu_us"], lambda value: f"{value:,.1f} µs", ours=True)
        for one in table["rows"]
    ]
    yield bars(rows, about=f"CPU for each message by {table['name']}")
    yield _table(scaling_table(table), "Against the first row, repeat by repeat.")


def _pace(one: dict[str, Any]) -> Iterator[str]:
    load, numbers = one["load"], one["by_second"]
    if not numbers:
        return
    # The last second is not a whole one.
    whole = {name: counts[:-1] or counts for name, counts in list(numbers.items())[:LINES_MAX]}
    yield f"<h2>Second by second: {_escape(load_line(load))}</h2>"
    if len(numbers) > 1:
        total = [sum(counts) for counts in zip(*numbers.values(), strict=True)]
        total = total[:-1] or total
        yield "<p class='muted'>All numbers together, messages in each second.</p>"
        yield lines([Line("all numbers", total)], load["total_per_s"], about="all numbers, second by second")
    yield f"<p class='muted'>{_each(len(whole))}</p>"
    each = [Line(name, counts) for name, counts in whole.items()]
    yield lines(each, load["rate_per_s"], about="each number against its limit, second by second")


def _each(count: int) -> str:
    if count == 1:
        return "Messages in each second against the number's limit; the first holds the start."
    return f"{count} numbers, a line each, against the limit of one."


def _latency(report: dict[str, Any]) -> Iterator[str]:
    known = [one for one in report["contestants"] if one["histogram_ms"]]
    if not known:
        return
    yield "<h2>Time of a request</h2>"
    yield f"<p class='muted'>{_escape(known[0]['title'])}; requests by the time to their reply.</p>"
    yield histogram([(bound, count) for bound, count in known[0]["histogram_ms"]], about="times of requests")
    yield _table(latency_table(report), f"Percentiles. {LATENCY_NOTE}")


def _table(table: Table, caption: str) -> str:
    headings, rows = table
    head = "".join(
        f'<th scope="col">{_escape(heading)}</th>' if heading else "<td></td>" for heading in headings
    )
    body = "".join(
        f'<tr><th scope="row">{_escape(name)}</th>{"".join(map(_cell, cells))}</tr>' for name, *cells in rows
    )
    # Reached by the keyboard: what is wider than the window has to be moved.
    return (
        f'<div class="wide" tabindex="0"><table><caption>{_escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _cell(text: str) -> str:
    """A range goes below its median: a phone is narrow."""
    median, opening, spread = text.partition(" (")
    return (
        f"<td>{_escape(median)}"
        + (f"<small>{_escape(spread.rstrip(')'))}</small>" if opening else "")
        + "</td>"
    )


def _escape(words: str) -> str:
    """As HTML; a figure and its unit stay on one line."""
    return escape(_FIGURE.sub("\\1\u00a0\\2", words))
