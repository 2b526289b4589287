"""The charts of benchmarks/README.md are those of its tables."""

import re
from xml.etree import ElementTree

import pytest

from benchmarks.charts import CHARTS, DIRECTORY, README, Chart, drawn
from campaigns.bench.chart import Axis, Bar, axis_from_zero, dots

SVG = "{http://www.w3.org/2000/svg}"
TEXT = README.read_text("utf-8")


def numbers(content: str, element: str, attribute: str) -> list[float]:
    return [float(one.attrib[attribute]) for one in ElementTree.fromstring(content).iter(SVG + element)]


def test_the_committed_charts_are_drawn_from_the_committed_tables() -> None:
    committed = {path.name: path.read_text("utf-8") for path in DIRECTORY.iterdir()}
    assert committed == drawn(TEXT), "draw them again: python -m benchmarks.charts"


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.name)
def test_each_is_shown_says_its_unit_and_stands_alone(chart: Chart) -> None:
    name = f"{chart.name}.svg"
    assert TEXT.count(f"(charts/{name})") == 1
    content = drawn(TEXT)[name]
    words = [one.text for one in ElementTree.fromstring(content).iter(SVG + "text")]
    assert chart.axis in words
    assert not re.search(r"<script|<image|@import|url\(|href=", content)


def test_no_two_show_the_same() -> None:
    pictures = [content.partition("</style>")[2] for content in drawn(TEXT).values()]
    figures = [tuple(re.findall(r'class="value"[^>]*>([^<]*)', picture)[1:]) for picture in pictures]
    assert len(set(figures)) == len(CHARTS)
    assert all(len(shown) > 1 for shown in figures)


TABLE = """
## Throughput: a command
| | per second | CPU a message |
|---|---|---|
| engine, durable | 3,000 (2,000 – 4,000) | 50.0 µs |
| loop | **1,000** | 150 µs |
"""
OTHERS = re.sub(r"## Throughput.*?(?=\n## )", "", TEXT, flags=re.DOTALL)


def test_bars_are_drawn_to_scale_with_their_range() -> None:
    content = drawn(TABLE + OTHERS)["throughput.svg"]
    ground, engine, loop = numbers(content, "rect", "width")
    assert engine == pytest.approx(3 * loop, rel=0.01)
    drawing = ElementTree.fromstring(content)
    whisker = next(one for one in drawing.iter(SVG + "line") if one.get("class") == "whisker")
    begin, end = float(whisker.attrib["x1"]), float(whisker.attrib["x2"])
    assert (begin, end) == pytest.approx((2 * loop, 4 * loop), rel=0.01)
    assert end < ground
    assert ">3,000/s<" in content
    assert ">1,000/s<" in content


def test_a_table_a_column_or_a_figure_that_is_gone_is_named() -> None:
    with pytest.raises(LookupError, match='"per second" under "Throughput"'):
        drawn(OTHERS)
    with pytest.raises(LookupError, match='"CPU a message" under "Throughput"'):
        drawn(TABLE.replace("CPU a message", "cost") + OTHERS)
    with pytest.raises(LookupError, match="Throughput, loop: '–' is no figure"):
        drawn(TABLE.replace("**1,000**", "–") + OTHERS)


def test_equal_ratios_are_equally_far_apart_on_a_logarithmic_axis() -> None:
    axis = Axis("µs", 10, 1_000, [10, 100, 1_000], logarithmic=True)
    assert axis.at(10) == 0
    assert axis.at(1_000) - axis.at(100) == pytest.approx(axis.at(100) - axis.at(10))
    drawing = dots([Bar("a", 100, "100", 50, 200)], axis, about="a")
    (circle,) = ElementTree.fromstring(drawing).iter("circle")
    assert float(circle.attrib["cx"]) == pytest.approx(axis.at(100), abs=0.1)


@pytest.mark.parametrize(
    ("most", "ticks"),
    [
        (46_401, [0, 10_000, 20_000, 30_000, 40_000]),
        (1, [0, 0.5, 1]),
        (1_000, [0, 500, 1_000]),
        (296.1, [0, 100, 200]),
        (0, [0, 0.5, 1]),
    ],
)
def test_an_axis_has_round_numbers_up_to_the_longest_bar(most: float, ticks: list[float]) -> None:
    assert axis_from_zero("", [Bar("a", most, "", 0, most)]).ticks == pytest.approx(ticks)
