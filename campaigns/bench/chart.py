"""Charts as SVG text: bars or dots with their spread, lines against a limit, a histogram.

Drawn 360 units wide, so that the letters are readable on a phone; colours are the page's, by class, so that
they follow its light and dark.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

WIDTH = 360.0
RIGHT = 12.0
BAR_HEIGHT, BAR_STEP = 16.0, 44.0
VALUE_WIDTH = 78.0  # beside the longest bar
AXIS_BELOW = 38.0  # the numbers of an axis and its title
PLOT_TOP, PLOT_LEFT, PLOT_HEIGHT, PLOT_BELOW = 10.0, 46.0, 170.0, 34.0
TICKS = 4
NAMED_MAX = 6  # bars whose names have room beside each other
ROOM = 1.1  # above the highest value, for its label


@dataclass(frozen=True, slots=True)
class Bar:
    """`text` is written beside it; `least` and `most` are drawn as a whisker; `ours` in colour."""

    label: str
    value: float
    text: str
    least: float
    most: float
    ours: bool = False


@dataclass(frozen=True, slots=True)
class Axis:
    """What lies across, from `least` to `most`. `title`: what, in which unit; `limit` is drawn dashed."""

    title: str
    least: float
    most: float
    ticks: Sequence[float]
    logarithmic: bool = False
    limit: float | None = None

    def at(self, value: float) -> float:
        """Where it lies, in units of the picture."""
        least, most = self._scaled(self.least), self._scaled(self.most)
        return (WIDTH - VALUE_WIDTH) * (self._scaled(value) - least) / (most - least)

    def _scaled(self, value: float) -> float:
        return log10(value) if self.logarithmic else value


def axis_from_zero(title: str, rows: Sequence[Bar]) -> Axis:
    """As long as the longest bar with its whisker."""
    most = max((row.most for row in rows), default=0.0) or 1.0
    power = 10.0 ** floor(log10(most))
    step = next(share * power for share in (0.1, 0.2, 0.5, 1, 2, 5) if share * power * (TICKS + 1) > most)
    return Axis(title, 0.0, most, [step * n for n in range(int(most / step + 1e-9) + 1)])


def bars(rows: Sequence[Bar], *, about: str, axis_title: str = "") -> str:
    """Horizontal bars from 0 on one scale, labels above them; the axis is drawn where it has a title."""
    axis = axis_from_zero(axis_title, rows)
    parts = _axis(axis, len(rows)) if axis_title else []
    for row, top in _places(rows):
        width = max(axis.at(row.value), 1.5)
        kind = "ours" if row.ours else "other"
        parts.append(
            f'<rect class="{kind}" x="0" y="{top:.1f}" width="{width:.1f}" height="{BAR_HEIGHT}" rx="2"/>'
        )
        parts += _labels(row, axis, top, max(width, axis.at(row.most)))
    return _svg(len(rows) * BAR_STEP + (AXIS_BELOW if axis_title else 0.0), parts, _told(about, rows))


def _told(about: str, rows: Sequence[Bar]) -> str:
    """For those who do not see it: what it shows, with every figure."""
    return "; ".join([about, *(f"{row.label} {row.text}" for row in rows)])


def dots(rows: Sequence[Bar], axis: Axis, *, about: str) -> str:
    """As `bars`, a dot for each value: for an axis without a 0, where the length of a bar would deceive."""
    parts = _axis(axis, len(rows))
    for row, top in _places(rows):
        kind, x, y = "ours" if row.ours else "other", axis.at(row.value), top + BAR_HEIGHT / 2
        parts.append(f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{BAR_HEIGHT / 2 - 2}"/>')
        parts += _labels(row, axis, top, WIDTH - VALUE_WIDTH)
    return _svg(len(rows) * BAR_STEP + AXIS_BELOW, parts, about)


def _places(rows: Sequence[Bar]) -> Iterator[tuple[Bar, float]]:
    """Each with the upper edge of its bar."""
    for place, row in enumerate(rows):
        yield row, place * BAR_STEP + 18


def _labels(row: Bar, axis: Axis, top: float, right: float) -> list[str]:
    """Its name above, its value right of `right`, its spread as a whisker."""
    parts, middle = [_text(0, top - 6, row.label, "label")], top + BAR_HEIGHT / 2
    if row.most > row.least:
        begin, end = axis.at(row.least), axis.at(row.most)
        parts.append(_line(begin, middle, end, middle, "whisker"))
        parts += [_line(x, middle - 4, x, middle + 4, "whisker") for x in (begin, end)]
    parts.append(_text(right + 6, middle + 4, row.text, "value"))
    return parts


def _axis(axis: Axis, rows: int) -> list[str]:
    """Below so many rows, with a line up through them at each tick."""
    bottom = rows * BAR_STEP
    parts = []
    for tick in axis.ticks:
        x = axis.at(tick)
        parts.append(_line(x, 0, x, bottom, "grid"))
        parts.append(_text(x, bottom + 14, short(tick), "axis", "middle" if x > 0 else "start"))
    if axis.limit is not None:
        x = axis.at(axis.limit)
        parts.append(_line(x, 0, x, bottom, "limit"))
    parts.append(_text(0, bottom + 31, axis.title, "axis"))
    return parts


@dataclass(frozen=True, slots=True)
class Line:
    """Values second by second, from the first."""

    label: str
    values: Sequence[float]


def lines(series: Sequence[Line], limit: float, *, about: str) -> str:
    """Lines over seconds, and the limit as a dashed one; the axis begins at 0."""
    seconds = max((len(line.values) for line in series), default=0)
    top = _ceiling(max([limit, *(max(line.values, default=0.0) for line in series)]))
    width = WIDTH - PLOT_LEFT - RIGHT

    def at(second: float, value: float) -> tuple[float, float]:
        x = PLOT_LEFT + width * second / max(seconds - 1, 1)
        return x, PLOT_TOP + PLOT_HEIGHT * (1 - value / top)

    parts = _grid(top, at(0, 0)[1])
    y = at(0, limit)[1]
    parts.append(_line(PLOT_LEFT, y, WIDTH - RIGHT, y, "limit"))
    parts.append(_text(WIDTH - RIGHT, y - 5, f"limit {short(limit)}", "value", "end"))
    # Of many lines each alone would hide the others.
    faint = " faint" if len(series) > TICKS else ""
    for line in series:
        points = " ".join("{:.1f},{:.1f}".format(*at(s, value)) for s, value in enumerate(line.values))
        title = f"<title>{escape(line.label)}</title>"
        if len(line.values) == 1:  # no line, and nothing would show
            x, y = at(0, line.values[0])
            parts.append(f'<circle class="ours" cx="{x:.1f}" cy="{y:.1f}" r="3">{title}</circle>')
        parts.append(f'<polyline class="series{faint}" points="{points}">{title}</polyline>')
    for tick in range(TICKS + 1):
        second = round((seconds - 1) * tick / TICKS) if seconds > TICKS else tick
        if second < max(seconds, 1):
            x = at(second, 0)[0]
            parts.append(_text(x, PLOT_TOP + PLOT_HEIGHT + 16, f"{second} s", "axis", "middle"))
    seen = [value for line in series for value in line.values]
    told = f"; from {min(seen):,g} to {max(seen):,g} a second, the limit is {limit:,g}" if seen else ""
    return _svg(PLOT_TOP + PLOT_HEIGHT + PLOT_BELOW, parts, about + told)


def histogram(counts: Sequence[tuple[float, float]], *, about: str) -> str:
    """Upright bars, one for each (upper end in ms, requests), evenly spaced; some upper ends are named."""
    top = _ceiling(max((count for _, count in counts), default=0.0))
    step = (WIDTH - PLOT_LEFT - RIGHT) / max(len(counts), 1)
    bottom = PLOT_TOP + PLOT_HEIGHT
    parts = _grid(top, bottom)
    named = ceil(len(counts) / NAMED_MAX)
    for place, (bound_ms, count) in enumerate(counts):
        height = PLOT_HEIGHT * count / top
        x = PLOT_LEFT + place * step
        parts.append(
            f'<rect class="other" x="{x + 1:.1f}" y="{bottom - height:.1f}" width="{max(step - 2, 1):.1f}"'
            f' height="{height:.1f}"><title>up to {bound_ms:g} ms: {count:,.0f}</title></rect>'
        )
        if place % named == 0:
            parts.append(_text(x + step / 2, bottom + 16, f"≤{bound_ms:.3g}", "axis", "middle"))
    parts.append(_text(PLOT_LEFT, bottom + 31, "ms to the reply; upwards the requests", "axis"))
    return _svg(bottom + PLOT_BELOW, parts, about)


def _grid(top: float, bottom: float) -> list[str]:
    parts = []
    for tick in range(TICKS + 1):
        y = bottom - PLOT_HEIGHT * tick / TICKS
        parts.append(_line(PLOT_LEFT, y, WIDTH - RIGHT, y, "grid"))
        parts.append(_text(PLOT_LEFT - 6, y + 4, short(top * tick / TICKS), "axis", "end"))
    return parts


def _ceiling(value: float) -> float:
    """A round number with some room above the value; a quarter of it is readable too."""
    if value <= 0:
        return 1.0
    value *= ROOM
    power = 10.0 ** (len(str(int(value))) - 1)
    return next(
        step * power for step in (1, 1.2, 1.6, 2, 2.4, 3.2, 4, 5, 6, 8, 10, 12) if step * power >= value
    )


def short(value: float) -> str:
    """A number in five places at most: 950, 1.2k, 32k."""
    if value < 1_000:
        return f"{value:.3g}"
    return f"{value / 1_000:.3g}k" if value < 1_000_000 else f"{value / 1_000_000:.3g}M"


def _text(x: float, y: float, words: str, kind: str, anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _svg(height: float, parts: Sequence[str], about: str) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH:.0f} {height:.0f}" role="img" aria-label="{escape(about)}">'
        + "".join(parts)
        + "</svg>"
    )
