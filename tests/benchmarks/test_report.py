"""What a report says is what was measured: its JSON, its page, and its comparison with another."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import orjson
import pytest
from campaigns.bench import chart

from benchmarks.report.compare import compare
from benchmarks.report.content import read_report
from benchmarks.report.page import page_of
from benchmarks.report.text import (
    comparison_table,
    conditions_rows,
    headline,
    latency_table,
    notes,
    scaling_table,
    stages_table,
)
from engine.errors import ConfigurationError
from tests.benchmarks.samples import CONDITIONS, LOAD, report, stages_report


def contestant(content: dict[str, Any], name: str) -> dict[str, Any]:
    return next(one for one in content["contestants"] if one["name"] == name)


def test_figures_are_medians_with_their_range() -> None:
    found = contestant(report(engine=[1_500, 1_700, 1_400]), "engine")["per_s"]
    assert found == {"median": 1_500, "least": 1_400, "most": 1_700, "values": [1_500, 1_700, 1_400]}


def test_ratios_are_taken_repeat_by_repeat() -> None:
    content = report(engine=[1_000, 2_000], loop=[500, 500])
    ratios = contestant(content, "session_loop")["engine_is"]
    assert ratios["by_rate"]["values"] == [2.0, 4.0]
    assert ratios["by_cpu"]["values"] == [2.0, 2.0]  # 100 µs against 50
    assert contestant(content, "engine")["engine_is"] is None


def test_the_headroom_is_what_the_service_left_of_its_core() -> None:
    headroom = report(engine=[1_500])["headroom"]
    assert headroom["service_share"]["median"] == 0.25
    assert headroom["database_share"]["median"] == 0.125
    assert headroom["could_carry_per_s"]["median"] == 6_000
    assert headroom["enough"]
    assert "there was headroom" in next(notes(report()))


def test_a_core_that_was_not_full_is_told_where_no_limit_explains_it() -> None:
    content = report(engine=[1_500])  # at 50 µs each
    assert content["headroom"]["sender_share"]["median"] == 0.075
    assert any("core was 8 % full: it waited" in note for note in notes(content))
    content["pace"][0]["reached"]["median"] = 0.99
    assert not any("it waited" in note for note in notes(content))
    content = report(engine=[20_000])
    assert content["headroom"]["sender_share"]["median"] == 1.0
    assert not any("it waited" in note for note in notes(content))


def test_the_engine_and_its_pace_are_among_the_times_of_replies() -> None:
    headings, rows = latency_table(report())
    assert headings == ("ms to the reply", "p50", "p99", "max")
    assert rows[0] == ("engine, durable", "1.50", "2.75", "30.50")
    assert rows[-1] == ("one number", "1.50", "2.75", "30.50")
    assert [row[0] for row in rows].count("engine, durable") == 1


def test_a_service_that_tells_no_cpu_is_said_to_tell_none() -> None:
    content = report()
    content["headroom"] |= {"service_share": None, "could_carry_per_s": None, "enough": None}
    assert "does not tell" in next(notes(content))


def test_an_engine_at_its_limit_is_not_called_slow() -> None:
    content = report()
    assert "3.0 × a plain session loop" in headline(content)
    content["pace"][0]["reached"] = {
        "median": 0.991,
        "least": 0.99,
        "most": 0.992,
        "values": [0.99, 0.991, 0.992],
    }
    assert "session loop" not in headline(content)
    assert "as its limits permit" in headline(content)
    assert any("says nothing about what it could send" in note for note in notes(content))


def test_one_repeat_is_called_one() -> None:
    assert any("no spread" in note for note in notes(report(engine=[1_500])))
    assert not any("no spread" in note for note in notes(report()))


def test_a_written_report_is_read_as_it_was(tmp_path: Path) -> None:
    content = report()
    (tmp_path / "report.json").write_bytes(orjson.dumps(content))
    assert read_report(tmp_path) == read_report(tmp_path / "report.json") == content


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (None, "no report can be read"),
        ("{", "this is no report"),
        ("[]", "no report of `drumbeat bench`"),
        ('{"schema":99,"contestants":[],"pace":[],"conditions":{}}', "schema 99"),
    ],
)
def test_what_is_no_report_is_refused(tmp_path: Path, text: str | None, part: str) -> None:
    if text is not None:
        (tmp_path / "report.json").write_text(text)
    with pytest.raises(ConfigurationError, match=part):
        read_report(tmp_path)


# ---- what is not sending


def test_a_stage_stands_beside_its_yardstick_repeat_by_repeat() -> None:
    plan, receive = stages_report()["stages"]
    assert (plan["name"], plan["unit"], plan["count"]) == ("plan", "rows", [400_000, 300_000])
    assert plan["per_s"]["values"] == [200_000, 150_000]
    assert plan["of_yardstick"]["values"] == [0.2, 0.15]
    assert (plan["cpu_us"]["median"], plan["database_us"]["median"]) == (4.0, 2.0)
    assert plan["p99_ms"] is None
    assert receive["p99_ms"]["most"] == 8.5
    headings, rows = stages_table(stages_report())
    assert len(headings) == len(rows[0]) == len(rows[1])
    assert rows[0][1] == "175,000 (150,000–200,000)"


def test_a_cost_is_compared_with_the_first_row_and_a_row_below_its_rate_says_so() -> None:
    (table,) = stages_report()["scaling"]
    assert [one["times_first"]["values"] for one in table["rows"]] == [[1.0, 1.0], [1.2, 1.5]]
    assert [one["full"]["median"] for one in table["rows"]] == [0.375, 0.375]
    assert [one["reached"] for one in table["rows"]] == [True, False]  # 16 numbers at 500/s are 8,000/s
    _, rows = scaling_table(table)
    assert rows[1][0] == "16 numbers (did not reach its rate)"


def test_a_report_without_sending_says_what_it_measured_and_nothing_of_messages() -> None:
    content = stages_report()
    said = headline(content)
    assert said.startswith(
        "Plan an audience: 175,000 rows/s; receive statuses, one a POST: 21,000 statuses/s"
    )
    assert said.endswith("a message costs 1.35 × as much with 16 numbers as with one number.")
    assert ("sent", "–") in conditions_rows(content)
    page = page_of(content).replace("\u00a0", " ")
    assert page.count("<svg") == 2 + 1  # a chart for each stage, one for the numbers
    for figure in (
        "plan an audience, rows",
        "175k/s",
        "bare COPY of the same file",
        "Cost of a message by numbers",
        "16 numbers",
    ):
        assert figure in page
    assert "Messages a second" not in page


def test_stages_and_costs_are_compared_too() -> None:
    slower = stages_report()
    slower["stages"][0]["per_s"] = {
        "median": 90_000,
        "least": 80_000,
        "most": 100_000,
        "values": [100_000, 80_000],
    }
    slower["scaling"][0]["rows"] = slower["scaling"][0]["rows"][:1]
    found = compare(stages_report(), slower)
    verdicts_by_row = {(row.what, row.figure): row.verdict for row in found.rows}
    assert verdicts_by_row["plan an audience", "per second"] == "worse"
    assert verdicts_by_row["plan an audience", "is of its yardstick"] == "same"
    assert verdicts_by_row["one number", "CPU µs a message"] == "same"
    assert found.missing == ("only A has 16 numbers",)
    _, rows = comparison_table(found)
    assert rows[0][:3] == ("plan an audience", "per second", "175,000 (150,000–200,000)")


def test_a_report_from_before_they_were_measured_is_read(tmp_path: Path) -> None:
    content = report()
    assert content["stages"] == content["scaling"] == []
    older = {name: value for name, value in content.items() if name not in ("stages", "scaling")}
    (tmp_path / "report.json").write_bytes(orjson.dumps(older))
    assert not list(compare(read_report(tmp_path), content).missing)


# ---- the page


def test_the_page_holds_the_figures_of_the_report() -> None:
    content = report(engine=[1_512.0, 1_634.0, 1_498.0])
    page = page_of(content).replace("\u00a0", " ")
    for one in content["contestants"]:
        assert f"{one['per_s']['median']:,.0f}/s" in page
        assert f"{one['cpu_us']['median']:,.1f} µs" in page
    assert "1,512" in page
    assert "1,498–1,634" in page
    for figure in ("75.00 %", "87.50 %", "93.75 %", "6.25 %", "20.12"):
        assert figure in page
    for value in (CONDITIONS.command, CONDITIONS.date, "6,048 messages/s"):
        assert value in page


def test_the_page_needs_nothing_from_elsewhere_and_no_script() -> None:
    page = page_of(report())
    assert not re.search(r"https?:|<script|<link|<img|@import|url\(|src=|href=", page)
    assert 'name="viewport"' in page
    assert "prefers-color-scheme: dark" in page


def test_words_of_the_machine_are_no_markup() -> None:
    page = page_of(report())
    assert "Processor &lt;1&gt;" in page
    assert "<1>" not in page


def test_its_charts_are_well_formed_and_drawn_to_scale() -> None:
    charts = re.findall(r"<svg.*?</svg>", page_of(report()), re.DOTALL)
    assert (
        len(charts) == 2 + 2 * 2 + 1
    )  # rates and costs; both paces, in all and by number; times of requests
    rates = ElementTree.fromstring(charts[0])
    widths = [float(bar.attrib["width"]) for bar in rates.iter("rect")]
    assert widths[0] == pytest.approx(3 * widths[1], rel=0.01)  # 1,500 against 500
    for text in charts:
        ElementTree.fromstring(text)


@pytest.mark.parametrize(
    ("value", "words"),
    [(0, "0"), (12.5, "12.5"), (950, "950"), (1_200, "1.2k"), (32_000, "32k"), (2e6, "2M")],
)
def test_numbers_of_an_axis_are_short(value: float, words: str) -> None:
    assert chart.short(value) == words


@pytest.mark.parametrize("limit", [0.5, 1, 20, 80, 250, 999, 1_000, 9_500, 32_000])
def test_a_limit_stays_inside_its_chart(limit: float) -> None:
    drawn = ElementTree.fromstring(chart.lines([chart.Line("a", [limit])], limit, about="a"))
    (line,) = [one for one in drawn.iter("line") if one.attrib["class"] == "limit"]
    assert chart.PLOT_TOP < float(line.attrib["y1"]) < chart.PLOT_TOP + chart.PLOT_HEIGHT


def test_what_is_drawn_lies_within_its_picture_and_is_told_in_words() -> None:
    content = stages_report()
    content["stages"][1]["yardstick"]["per_s"] = {
        "median": 2.95e6,
        "least": 1.8e6,
        "most": 4.1e6,
        "values": [1.8e6, 4.1e6],
    }
    for picture in re.findall(r"<svg.*?</svg>", page_of(content), re.DOTALL):
        drawing = ElementTree.fromstring(picture)
        for text in drawing.iter("text"):
            if text.attrib["class"] == "value":
                # A bold character of 12 px is 8 wide at most.
                assert float(text.attrib["x"]) + 8 * len(text.text or "") <= chart.WIDTH
                assert (text.text or "") in drawing.attrib["aria-label"]


def test_a_single_second_is_seen_too() -> None:
    drawn = ElementTree.fromstring(chart.lines([chart.Line("a", [40])], 80, about="a"))
    assert [one.attrib["class"] for one in drawn.iter("circle")] == ["ours"]
    assert drawn.attrib["aria-label"] == "a; from 40 to 40 a second, the limit is 80"


def test_tables_name_their_rows_and_columns() -> None:
    page = page_of(report())
    tables = re.findall(r"<table>.*?</table>", page, re.DOTALL)
    assert tables
    for text in tables:
        table = ElementTree.fromstring(text)
        assert table.find("caption") is not None
        rows = table.findall("tbody/*")
        assert rows
        for row in rows:
            assert [cell.attrib.get("scope") for cell in row][:2] == ["row", None]
        assert all(
            cell.attrib["scope"] == "col" for cell in table.iter("th") if cell not in [r[0] for r in rows]
        )


def test_the_latency_of_another_emulator_is_not_called_ours() -> None:
    content = report(service="http://127.0.0.1:8081")
    assert content["load"]["latency_ms"] is None
    assert content["pace"][0]["load"]["latency_ms"] is None
    assert "latency 5 ms" not in page_of(content)
    assert "latency as the emulator has it" in page_of(content)
    assert "service: its own and http://127.0.0.1:8081" in compare(report(), content).differences


def test_a_mean_above_the_limit_is_explained_and_a_second_above_it_is_told() -> None:
    content = report()
    content["pace"][1]["reached"]["most"] = 1.0025
    assert any("makes up for a late start; no second" in note for note in notes(content))
    content["pace"][1]["largest_at_service"]["most"] = 1.01
    assert any("a second held more than the limit" in note for note in notes(content))
    assert not any("above the limit" in note for note in notes(report()))


# ---- two reports


def verdicts(a: dict[str, Any], b: dict[str, Any], figure: str) -> dict[str, str]:
    return {row.what: row.verdict for row in compare(a, b).rows if row.figure == figure}


def test_a_report_equals_itself() -> None:
    found = compare(report(), report())
    assert found.rows
    assert {row.verdict for row in found.rows} == {"same"}
    assert (found.differences, found.missing) == ((), ())


@pytest.mark.parametrize(
    ("engine", "change", "verdict"),
    [
        ([1_490.0, 1_530.0, 1_510.0], 0.01 / 1.5, "within the spread"),
        ([1_600.0, 1_800.0, 1_530.0], 0.1 / 1.5, "better"),
        ([1_200.0, 1_300.0, 1_100.0], -0.2, "worse"),
        ([1_800.0], 0.2, "no spread"),
    ],
)
def test_a_difference_counts_when_the_ranges_do_not_touch(
    engine: list[float], change: float, verdict: str
) -> None:
    found = compare(report(), report(engine=engine))
    row = next(row for row in found.rows if (row.what, row.figure) == ("engine, durable", "messages/s"))
    assert row.change == pytest.approx(change, abs=1e-5)
    assert row.verdict == verdict


def test_less_cpu_is_better() -> None:
    faster = report(engine=[3_000.0, 3_040.0, 2_960.0])  # Postgres' half second over more messages
    assert verdicts(report(), faster, "Postgres CPU µs a message")["engine, durable"] == "better"
    assert verdicts(faster, report(), "Postgres CPU µs a message")["engine, durable"] == "worse"


def test_a_yardstick_that_moved_tells_of_the_machine() -> None:
    slower = report()
    loop = contestant(slower, "session_loop")["cpu_us"]
    loop |= {"median": 150.0, "least": 149.0, "most": 151.0, "values": [150.0, 149.0, 151.0]}
    (told,) = compare(report(), slower).differences
    assert told == 'the machine: the yardstick "plain session loop" took +50.0 % CPU; trust the ratios'
    engine = contestant(slower, "engine")["cpu_us"]
    engine |= loop
    assert compare(report(), slower).differences == (told,)


def test_another_machine_another_load_and_what_is_missing_are_told() -> None:
    other = report(conditions=replace(CONDITIONS, cores=8, load=3.0), load=replace(LOAD, latency_ms=50.0))
    other["contestants"] = other["contestants"][:2]
    found = compare(report(), other)
    assert "cores: 2 and 8" in found.differences
    assert "load, latency_ms: 5.0 and 50.0" in found.differences
    assert "load of the machine: 0.25 and 3.0" in found.differences
    assert found.missing == ("only A has naive script",)
