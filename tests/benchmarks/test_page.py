"""The page shows the figures of the report, opens offline, and fits a phone."""

import re
import shutil
from dataclasses import replace
from json import JSONDecoder
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from playwright.async_api import async_playwright
from plotly.offline import get_plotlyjs

from drumbeat.benchmarks.report.charts import Bar, bars, lines
from drumbeat.benchmarks.report.compare import compare
from drumbeat.benchmarks.report.page import page_of
from tests.benchmarks.samples import CONDITIONS, report, stages_report

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PHONE_WIDTH_PX = 390


def drawn(html: str) -> list[tuple[list[dict[str, Any]], dict[str, Any]]]:
    """The traces and the layout of each chart."""
    found = []
    for match in re.finditer(r"Plotly\.newPlot\(\s*\"[^\"]+\",\s*", html.replace(get_plotlyjs(), "")):
        text = html.replace(get_plotlyjs(), "")[match.end() :]
        traces, end = JSONDecoder().raw_decode(text)
        layout, _ = JSONDecoder().raw_decode(text[end:].lstrip(" ,\n"))
        found.append((traces, layout))
    return found


def plain_page(content: dict[str, Any]) -> str:
    """The page without its script, with plain spaces."""
    return page_of(content).replace(get_plotlyjs(), "").replace("\u00a0", " ")


def test_the_page_holds_the_figures_of_the_report() -> None:
    content = report(engine=[1_512.0, 1_634.0, 1_498.0])
    page = plain_page(content)
    for sender in content["senders"]:
        assert f"{sender['per_s']['median']:,.0f}/s" in page
        assert f"{sender['cpu_us']['median']:,.1f} µs" in page
    assert "1,512" in page
    assert "1,498–1,634" in page
    for figure in ("75.00 %", "87.50 %", "93.75 %", "6.25 %", "20.12"):
        assert figure in page
    for value in (CONDITIONS.command, CONDITIONS.date, "6,048 messages/s"):
        assert value in page


def test_the_page_of_a_report_without_sending_says_nothing_of_messages() -> None:
    page = plain_page(stages_report())
    assert len(drawn(page_of(stages_report()))) == 2 + 1  # a chart for each stage, one for the numbers
    for figure in (
        "plan an audience, rows",
        "175,000/s",
        "bare COPY of the same file",
        "Cost of a message by numbers",
        "16 numbers",
    ):
        assert figure in page
    assert "Messages a second" not in page


def test_the_page_needs_nothing_from_elsewhere_and_holds_its_script_once() -> None:
    assert page_of(report()).count(get_plotlyjs()) == 1
    page = plain_page(report())
    assert not re.search(r"https?:|<link|<img|@import|url\(|src=|href=", page)
    assert 'name="viewport"' in page
    assert "prefers-color-scheme: dark" in page


def test_words_of_the_machine_are_no_markup() -> None:
    page = plain_page(report())
    assert "Processor &lt;1&gt;" in page
    assert "<1>" not in page


def test_a_busy_machine_is_a_warning_above_the_result() -> None:
    page = plain_page(report(conditions=replace(CONDITIONS, load=1.5)))
    assert page.index("load average 1.50") < page.index("The engine sent")
    assert 'class="warning"' not in plain_page(report())


def test_its_charts_are_drawn_to_scale_and_the_engine_has_its_own_colour() -> None:
    charts = drawn(page_of(report()))
    # rates and costs; both paces, in all and by number; reply times
    assert len(charts) == 2 + 2 * 2 + 1
    ((rates,), layout) = charts[0]
    assert rates["x"] == [1_500, 500, 250]
    assert rates["error_x"]["array"] == [20, 10, 5]
    assert rates["marker"]["color"][0] not in rates["marker"]["color"][1:]
    assert layout["annotations"][0]["text"] == "engine, durable  <b>1,500/s</b>"


def test_each_chart_is_also_described_in_words() -> None:
    chart = bars([Bar("a <b>", 100, "100/s", 50, 200)], about="rates")
    assert chart.description == "rates; a <b> 100/s"
    assert "<b> <b>" not in chart.html
    chart = lines({"a": [40.0]}, 80, about="a")
    assert chart.description == "a; from 40 to 40 a second, the limit is 80"
    assert '"mode":"markers"' in chart.html  # a line through one point is invisible
    assert 'aria-label="messages a second of each sender; engine, durable 1,500/s' in plain_page(report())


@pytest.mark.parametrize("limit", [0.5, 1, 20, 80, 250, 999, 1_000, 9_500, 32_000])
def test_a_limit_stays_inside_its_chart(limit: float) -> None:
    ((_, layout),) = drawn(lines({"a": [limit]}, limit, about="a").html)
    assert layout["shapes"][0]["y0"] == limit < layout["yaxis"]["range"][1]


def test_tables_name_their_rows_and_columns() -> None:
    tables = re.findall(r"<table>.*?</table>", plain_page(report()), re.DOTALL)
    assert tables
    for text in tables:
        table = ElementTree.fromstring(text)
        assert table.find("caption") is not None
        headings = [heading.text for heading in table.findall("thead/tr/th")]
        assert all(headings)
        rows = table.findall("tbody/*")
        assert rows
        for row in rows:
            assert [cell.attrib.get("scope") for cell in row][:2] == ["row", None]
            assert [cell.attrib["data-heading"] for cell in row[1:]] == headings[1:]


def test_the_latency_of_another_emulator_is_not_called_ours() -> None:
    content = report(service="http://127.0.0.1:8081")
    assert content["load"]["latency_ms"] is None
    assert content["pace"][0]["load"]["latency_ms"] is None
    assert "latency 5 ms" not in plain_page(content)
    assert "latency set by the emulator" in plain_page(content)
    assert "service: its own and http://127.0.0.1:8081" in compare(report(), content).differences


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium")
@pytest.mark.parametrize("content", [report(), stages_report()], ids=["senders", "stages"])
async def test_on_a_phone_nothing_is_cut_off_and_nothing_is_loaded(
    tmp_path: Path, content: dict[str, Any]
) -> None:
    path = tmp_path / "report.html"
    path.write_text(page_of(content), "utf-8")
    loaded: list[str] = []
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = await browser.new_page(viewport={"width": PHONE_WIDTH_PX, "height": 844})
        page.on("request", lambda request: loaded.append(request.url))
        await page.goto(path.as_uri())
        await page.wait_for_function(
            "document.querySelectorAll('figure .main-svg').length >= document.querySelectorAll('figure').length"
        )
        width = await page.evaluate("document.documentElement.scrollWidth")
        right = await page.evaluate(
            "Math.max(...[...document.querySelectorAll('figure text, td, th, dd, p')]"
            ".map(part => part.getBoundingClientRect().right))"
        )
        await browser.close()
    assert width <= PHONE_WIDTH_PX
    assert right <= PHONE_WIDTH_PX
    assert loaded == [path.as_uri()]
