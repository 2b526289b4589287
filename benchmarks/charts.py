"""Draws the charts of benchmarks/README.md from its own tables, so that a figure stands in one place only.

    python -m benchmarks.charts

Writes benchmarks/charts/*.svg. A table or a column that is not there any more ends it with its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from pathlib import Path

from benchmarks.ending import counts
from campaigns.bench.chart import Axis, Bar, bars, dots

README = Path(__file__).with_name("README.md")
DIRECTORY = Path(__file__).with_name("charts")
WIDTH_PX = 520
LEAST_PACE = 95  # of a hundred: a pace below it moves the axis

_SECTION = re.compile(r"## (\w+)")
# `14,403 (10,889 – 15,479)`, `**1.78 ×**`, `68.4 µs`: a figure with its unit, and its range if it has one.
_CELL = re.compile(
    r"\**(?P<text>(?P<value>[\d.,]+)[^(*]*)\**(?: ?\((?P<least>[\d.,]+) – (?P<most>[\d.,]+)\))?"
)
# An <img> follows the reader's own light or dark; its ground goes with its ink, so that a page of the other
# kind leaves it readable.
STYLE = """
svg { color-scheme: light dark; font: 12px system-ui, sans-serif; }
.ground { fill: #fff; } text { fill: #17191c; }
.axis { fill: #59626c; font-size: 11px; } .value { font-weight: 600; }
.ours { fill: #0b7a55; } .other { fill: #8f9aa5; } .grid { stroke: #dce1e6; } .whisker { stroke: #17191c; }
.limit { stroke: #b3261e; stroke-width: 1.5; stroke-dasharray: 5 4; }
@media (prefers-color-scheme: dark) {
.ground { fill: #121416; } text { fill: #e9ebee; } .axis { fill: #a0a9b3; }
.ours { fill: #3fbf8a; } .other { fill: #7a8692; } .grid { stroke: #2c3238; } .whisker { stroke: #e9ebee; }
.limit { stroke: #ff8a80; }
}
"""
MARGIN = 14


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the README: headings, and rows of as many cells."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """One column of one table.

    `section`: first word of its heading; `mark`: stands in the table's first heading. `labels`: the columns
    that name a row, each with what follows its value; `ours`: how the rows in colour begin.
    `unit`: follows each figure that has none of its own. `axis`: what the axis shows, in which unit.
    """

    name: str
    title: str
    section: str
    column: str
    claimed_through: str = ""
    labels: tuple[tuple[int, str], ...] = ((0, ""),)
    ours: str = ""
    unit: str = ""
    axis: str = ""


def _decades(title: str, rows: Sequence[Bar]) -> Axis:
    least = floor(log10(min(row.least for row in rows)))
    most = ceil(log10(max(row.most for row in rows)))
    ticks = [10.0**power for power in range(least, most + 1)]
    return Axis(title, ticks[0], ticks[-1], ticks, logarithmic=True)


def _percent(title: str, rows: Sequence[Bar]) -> Axis:
    least = min(LEAST_PACE, floor(min(row.least for row in rows)))
    return Axis(title, least, 100.0, [float(share) for share in range(least, 101)], limit=100.0)


AXES = {"pacing": _percent, "cpu": _decades}
CHARTS = (
    Chart(
        "throughput", "Messages a second of each contestant", "Throughput", "per second",
        ours="engine", unit="/s", axis="messages a second; the sender has one core",
    ),
    Chart(
        "cpu", "CPU of the sender for each message", "Throughput", "CPU a message",
        ours="engine", axis="µs of CPU a message, each step ten times the last; less is better",
    ),
    Chart(
        "pacing", "Pace reached, by limit, numbers and latency", "Pacing", "reached",
        labels=((0, " × "), (1, ", latency "), (2, "")), axis="% of the limit, which is dashed",
    ),
    Chart(
        "scaling-audiences", "Cost by recipients", "Scaling", "CPU a message",
        claimed_through="--only audiences", axis="µs of the sender's CPU a message",
    ),
    Chart(
        "scaling-numbers", "Cost by numbers", "Scaling", "CPU a message",
        claimed_through="--only numbers", axis="µs of the sender's CPU a message",
    ),
    Chart(
        "scaling-processes", "Cost by processes", "Scaling", "CPU a message",
        claimed_through="--only processes", axis="µs of the sender's CPU a message",
    ),
)  # fmt: skip


def drawn(markdown: str) -> dict[str, str]:
    """Each chart by its file's name. LookupError names what the text does not hold."""
    return {f"{chart.name}.svg": _file(chart, _picture(chart, markdown)) for chart in CHARTS}


def _picture(chart: Chart, markdown: str) -> str:
    rows = list(_bars(chart, _table(chart, markdown)))
    if chart.name in AXES:
        return dots(rows, AXES[chart.name](chart.axis, rows), about=chart.title)
    return bars(rows, about=chart.title, axis_title=chart.axis)


def _bars(chart: Chart, table: Table) -> Iterator[Bar]:
    place = table.headings.index(chart.column)
    for row in table.rows:
        found = _CELL.match(row[place])
        if found is None:
            raise LookupError(f"{chart.section}, {row[0]}: {row[place]!r} is no figure")
        value = _number(found["value"])
        least, most = (value if found[end] is None else _number(found[end]) for end in ("least", "most"))
        label = "".join(row[column] + word for column, word in chart.labels)
        text = found["text"].strip() + chart.unit
        yield Bar(label, value, text, least, most, ours=row[0].startswith(chart.ours))


def _number(text: str) -> float:
    return float(text.replace(",", ""))


def _table(chart: Chart, markdown: str) -> Table:
    for section, table in _tables(markdown):
        if (
            section == chart.section
            and chart.column in table.headings
            and chart.claimed_through in table.headings[0]
        ):
            return table
    of = f' of "{chart.claimed_through}"' if chart.claimed_through else ""
    raise LookupError(
        f'{README.name} has no table{of} with a column "{chart.column}" under "{chart.section}"'
    )


def _tables(markdown: str) -> Iterator[tuple[str, Table]]:
    """Each table with the first word of the heading that it stands under."""
    section, lines = "", []
    for line in [*markdown.splitlines(), ""]:
        if line.startswith("|"):
            lines.append(tuple(cell.strip() for cell in line.strip("|").split("|")))
            continue
        if lines:
            yield section, Table(lines[0], tuple(lines[2:]))  # the second is the rule below the headings
            lines = []
        if heading := _SECTION.match(line):
            section = heading[1]


def _file(chart: Chart, picture: str) -> str:
    """A picture that stands alone: its ground, its title and its colours in it."""
    _, _, width, height = map(float, re.search(r'viewBox="([^"]+)"', picture)[1].split())  # type: ignore[index]
    inner = picture[picture.index(">") + 1 :]
    whole_width, whole_height = width + 2 * MARGIN, height + 2 * MARGIN + 24
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH_PX}"'
        f' viewBox="{-MARGIN} {-MARGIN - 24} {whole_width:g} {whole_height:g}" role="img">'
        f"<title>{chart.title}</title><style>{STYLE}</style>"
        f'<rect class="ground" x="{-MARGIN}" y="{-MARGIN - 24}"'
        f' width="{whole_width:g}" height="{whole_height:g}"/>'
        f'<text class="value" x="0" y="-12" font-size="14">{chart.title}</text>{inner}\n'
    )


def main() -> None:
    DIRECTORY.mkdir(exist_ok=True)
    for name, content in drawn(README.read_text("utf-8")).items():
        (DIRECTORY / name).write_text(content, "utf-8")
        print(DIRECTORY / name)


if __name__ == "__main__":
    counts(__doc__)
    main()
