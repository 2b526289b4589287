"""The charts of the page, drawn by plotly in the reader's browser.

Text and grid lines take their colours from the page's style sheet, so that they follow its light and dark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

ENGINE_COLOUR, OTHER_COLOUR, LIMIT_COLOUR = "#2f9e73", "#98a4b0", "#d9483b"
BAR_HEIGHT_PX, PLOT_HEIGHT_PX = 48, 250
TICKS = 6
FEW_LINES = 4  # above it each line is faint, so that it does not hide the others
# A chart does not react to touch, so that a reader's finger scrolls the page.
CONFIG = {"displayModeBar": False, "responsive": True, "scrollZoom": False}


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart: HTML that draws it, and the same figures in words for readers who do not see it."""

    html: str
    description: str


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar. `text` is the value in words; the range from `least` to `most` is drawn as a whisker."""

    label: str
    value: float
    text: str
    least: float
    most: float
    is_engine: bool = False


def bars(rows: Sequence[Bar], *, about: str) -> Chart:
    """Return horizontal bars from 0. Label and value stand above each, where a phone has space for them."""
    places = list(range(len(rows)))
    figure = go.Figure(
        go.Bar(
            x=[row.value for row in rows],
            y=places,
            orientation="h",
            width=0.4,
            marker_color=[ENGINE_COLOUR if row.is_engine else OTHER_COLOUR for row in rows],
            error_x={
                "array": [row.most - row.value for row in rows],
                "arrayminus": [row.value - row.least for row in rows],
                "thickness": 1,
                "width": 4,
                "color": "#777",
            },
            hovertext=[f"{row.label}: {row.text}" for row in rows],
            hoverinfo="text",
        )
    )
    for place, row in zip(places, rows, strict=True):
        figure.add_annotation(
            text=f"{_plain(row.label)}  <b>{_plain(row.text)}</b>",
            x=0,
            y=place,
            xanchor="left",
            yshift=18,
            showarrow=False,
        )
    figure.update_yaxes(visible=False, range=[len(rows) - 0.5, -0.8])
    figure.update_xaxes(rangemode="tozero", tickformat="~s", nticks=TICKS)
    described = "; ".join([about, *(f"{row.label} {row.text}" for row in rows)])
    return _chart(figure, described, BAR_HEIGHT_PX * len(rows) + 40)


def lines(by_name: Mapping[str, Sequence[float]], limit: float, *, about: str) -> Chart:
    """Return a line for each name over whole seconds. The limit is dashed."""
    figure = go.Figure()
    width, opacity = (2, 1.0) if len(by_name) <= FEW_LINES else (1, 0.45)
    for name, values in by_name.items():
        figure.add_scatter(
            y=list(values),
            name=name,
            mode="lines" if len(values) > 1 else "markers",
            line={"color": ENGINE_COLOUR, "width": width},
            opacity=opacity,
        )
    figure.add_hline(limit, line={"color": LIMIT_COLOUR, "dash": "dash", "width": 1.5})
    figure.update_yaxes(rangemode="tozero", range=[0, 1.15 * _most(by_name, limit)], tickformat="~s")
    seconds = max(len(values) for values in by_name.values())
    figure.update_xaxes(title_text="second", tick0=0, dtick=max(1, seconds // TICKS))
    seen = [value for values in by_name.values() for value in values]
    described = f"{about}; from {min(seen):,g} to {max(seen):,g} a second, the limit is {limit:,g}"
    return _chart(figure, described, PLOT_HEIGHT_PX)


def histogram(counts: Sequence[Sequence[float]], *, about: str) -> Chart:
    """Return upright bars, one for each (upper bound in ms, requests)."""
    bounds = [f"{bound_ms:.3g}" for bound_ms, _ in counts]
    figure = go.Figure(go.Bar(x=bounds, y=[count for _, count in counts], marker_color=OTHER_COLOUR))
    figure.update_xaxes(title_text="reply time up to, ms", type="category", nticks=TICKS)
    figure.update_yaxes(title_text="requests", tickformat="~s")
    return _chart(figure, about, PLOT_HEIGHT_PX)


def _most(by_name: Mapping[str, Sequence[float]], limit: float) -> float:
    return max([limit, *(value for values in by_name.values() for value in values)])


def _plain(text: str) -> str:
    """Return text without the tags that plotly would interpret."""
    return text.replace("<", "‹").replace(">", "›")


def _chart(figure: go.Figure, description: str, height_px: int) -> Chart:
    transparent = "rgba(0,0,0,0)"
    figure.update_layout(
        template="none",
        height=height_px,
        margin={"l": 4, "r": 12, "t": 8, "b": 4},
        showlegend=False,
        dragmode=False,
        paper_bgcolor=transparent,
        plot_bgcolor=transparent,
    )
    figure.update_xaxes(fixedrange=True, automargin=True, zeroline=False)
    figure.update_yaxes(fixedrange=True, automargin=True, zeroline=False)
    options: dict[str, Any] = {"full_html": False, "include_plotlyjs": False, "default_height": height_px}
    return Chart(figure.to_html(config=CONFIG, **options), description)
