"""Charts as SVG text: bars with their spread, lines against a limit, a histogram.

Drawn 360 units wide, so that the letters are readable on a phone; colours are the page's, by class, so that
they follow its light and dark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH = 360.0
RIGHT = 12.0
BAR_HEIGHT, BAR_STEP = 16.0, 44.0
VALUE_WIDTH = 78.0  # beside the longest bar
PLOT_TOP, PLOT_LEFT, PLOT_HEIGHT, PLOT_BELOW = 10.0, 46.0, 170.0, 34.0
TICKS = 4
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


def bars(rows: Sequence[Bar], *, about: str) -> str:
    """Horizontal bars on one scale, their labels above them."""
    longest = max((row.most for row in rows), default=0.0) or 1.0
    scale = (WIDTH - VALUE_WIDTH) / longest
    parts = []
    for place, row in enumerate(rows):
        y = place * BAR_STEP + 12
        width = max(row.value * scale, 1.5)
        kind = "ours" if row.ours else "other"
        parts.append(_text(0, y, row.label, "label"))
        parts.append(
            f'<rect class="{kind}" x="0" y="{y + 6:.1f}" width="{width:.1f}" height="{BAR_HEIGHT}" rx="2"/>'
        )
        middle = y + 6 + BAR_HEIGHT / 2
        if row.most > row.least:
            begin, end = row.least * scale, row.most * scale
            parts.append(_line(begin, middle, end, middle, "whisker"))
            parts += [_line(x, middle - 4, x, middle + 4, "whisker") for x in (begin, end)]
        parts.append(_text(max(width, row.most * scale) + 6, middle + 4, row.text, "value"))
    return _svg(len(rows) * BAR_STEP, parts, about)


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
        parts.append(f'<polyline class="series{faint}" points="{points}">{title}</polyline>')
    for tick in range(TICKS + 1):
        second = round((seconds - 1) * tick / TICKS) if seconds > TICKS else tick
        if second < max(seconds, 1):
            x = at(second, 0)[0]
            parts.append(_text(x, PLOT_TOP + PLOT_HEIGHT + 16, f"{second} s", "axis", "middle"))
    return _svg(PLOT_TOP + PLOT_HEIGHT + PLOT_BELOW, parts, about)


def histogram(counts: Sequence[tuple[float, float]], *, about: str) -> str:
    """Upright bars, one for each (upper end in ms, requests), evenly spaced; some upper ends are named."""
    top = _ceiling(max((count for _, count in counts), default=0.0))
    step = (WIDTH - PLOT_LEFT - RIGHT) / max(len(counts), 1)
    bottom = PLOT_TOP + PLOT_HEIGHT
    parts = _grid(top, bottom)
    named = max(1, len(counts) // 5)
    for place, (bound_ms, count) in enumerate(counts):
        height = PLOT_HEIGHT * count / top
        x = PLOT_LEFT + place * step
        parts.append(
            f'<rect class="other" x="{x + 1:.1f}" y="{bottom - height:.1f}" width="{max(step - 2, 1):.1f}"'
            f' height="{height:.1f}"><title>up to {bound_ms:g} ms: {count:,.0f}</title></rect>'
        )
        if place % named == 0:
            parts.append(_text(x + step / 2, bottom + 16, f"≤{bound_ms:.3g} ms", "axis", "middle"))
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
