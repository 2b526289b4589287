"""A report contains what was measured, as JSON and as text."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from drumbeat.benchmarks.report.compare import compare
from drumbeat.benchmarks.report.content import read_report
from drumbeat.benchmarks.report.text import (
    conditions_rows,
    headline,
    latency_tables,
    notes,
    pace_table,
    scaling_table,
    senders_table,
    stages_table,
    warnings,
)
from drumbeat.engine.errors import ConfigurationError
from tests.benchmarks.samples import CONDITIONS, report, stages_report


def sender(content: dict[str, Any], name: str) -> dict[str, Any]:
    return next(entry for entry in content["senders"] if entry["name"] == name)


def test_figures_are_medians_with_their_range() -> None:
    found = sender(report(engine=[1_500, 1_700, 1_400]), "engine")["per_s"]
    assert found == {"median": 1_500, "least": 1_400, "most": 1_700, "values": [1_500, 1_700, 1_400]}


def test_ratios_are_taken_repeat_by_repeat() -> None:
    content = report(engine=[1_000, 2_000], loop=[500, 500])
    ratios = sender(content, "plain_loop")["engine_ratio"]
    assert ratios["by_rate"]["values"] == [2.0, 4.0]
    assert ratios["by_cpu"]["values"] == [2.0, 2.0]  # 100 µs against 50
    assert sender(content, "engine")["engine_ratio"] is None


def test_the_headroom_is_what_the_service_left_of_its_core() -> None:
    headroom = report(engine=[1_500])["headroom"]
    assert headroom["service_share"]["median"] == 0.25
    assert headroom["database_share"]["median"] == 0.125
    assert headroom["could_carry_per_s"]["median"] == 6_000
    assert headroom["enough"]
    assert "there was headroom" in next(notes(report()))


def test_the_tables_hold_the_figures_with_their_ranges() -> None:
    content = report(engine=[1_512.0, 1_634.0, 1_498.0])
    senders, pace = senders_table(content), pace_table(content)
    assert senders.rows[0][1] == "1,512 (1,498–1,634)"
    assert [row[2] for row in senders.rows] == [
        f"{sender['cpu_us']['median']:,.1f}" for sender in content["senders"]
    ]
    assert {"75.00 %", "87.50 %", "93.75 %", "6.25 %"} <= {cell for row in pace.rows for cell in row}
    for table in (senders, pace):
        assert {len(row) for row in table.rows} == {len(table.headings)}


def test_the_latency_of_another_emulator_is_not_called_ours() -> None:
    content = report(service="http://127.0.0.1:8081")
    assert content["load"]["latency_ms"] is None
    assert content["pace"][0]["load"]["latency_ms"] is None
    assert "latency set by the emulator" in pace_table(content).rows[0][0]
    assert "latency 5 ms" in pace_table(report()).rows[0][0]
    assert "service: its own and http://127.0.0.1:8081" in compare(report(), content).differences


def test_an_idle_core_is_reported_if_no_limit_explains_it() -> None:
    content = report(engine=[1_500])  # at 50 µs each
    assert content["headroom"]["sender_share"]["median"] == 0.075
    assert any("core was only 8 % busy: it waited" in note for note in notes(content))
    content["pace"][0]["reached"]["median"] = 0.99
    assert not any("it waited" in note for note in notes(content))
    content = report(engine=[20_000])
    assert content["headroom"]["sender_share"]["median"] == 1.0
    assert not any("it waited" in note for note in notes(content))


def test_reply_times_that_are_measured_differently_are_in_tables_of_their_own() -> None:
    engine, baselines = latency_tables(report())
    assert engine.headings == baselines.headings == ("sender", "p50", "p99", "max")
    assert engine.rows == [
        ("engine, durable", "1.50", "2.75", "30.50"),
        ("one number", "1.50", "2.75", "30.50"),
    ]
    assert [row[0] for row in baselines.rows] == ["plain aiohttp loop", "first script"]
    assert "a sample of its requests, from the write" in engine.caption
    assert "all requests, from the call" in baselines.caption


def test_a_machine_that_was_busy_before_the_run_is_a_warning() -> None:
    (warning,) = warnings(report(conditions=replace(CONDITIONS, load=1.5)))
    assert "load average 1.50" in warning
    assert not list(warnings(report()))


def test_a_service_that_reports_no_cpu_is_named() -> None:
    content = report()
    content["headroom"] |= {"service_share": None, "could_carry_per_s": None, "enough": None}
    assert "does not report its CPU" in next(notes(content))


def test_an_engine_at_its_limit_is_not_called_slow() -> None:
    content = report()
    assert "3.0 × a plain aiohttp loop" in headline(content)
    content["pace"][0]["reached"] = {
        "median": 0.991,
        "least": 0.99,
        "most": 0.992,
        "values": [0.99, 0.991, 0.992],
    }
    assert "aiohttp loop" not in headline(content)
    assert "Its limits permit no more" in headline(content)
    assert any("does not show what it could send" in note for note in notes(content))


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
        (None, "the report cannot be read"),
        ("{", "the file is not a report"),
        ("[]", "not a report of `drumbeat bench`"),
        ('{"schema":99,"senders":[],"pace":[],"conditions":{}}', "schema 99"),
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
    assert plan["of_baseline"]["values"] == [0.2, 0.15]
    assert (plan["cpu_us"]["median"], plan["database_us"]["median"]) == (4.0, 2.0)
    assert plan["p99_ms"] is None
    assert receive["p99_ms"]["most"] == 8.5
    stages = stages_table(stages_report())
    assert len(stages.headings) == len(stages.rows[0]) == len(stages.rows[1])
    assert stages.rows[0][1] == "175,000 (150,000–200,000)"


def test_a_cost_is_compared_with_the_first_row_and_a_row_below_its_rate_says_so() -> None:
    (table,) = stages_report()["scaling"]
    assert [one["times_first"]["values"] for one in table["rows"]] == [[1.0, 1.0], [1.2, 1.5]]
    assert [one["full"]["median"] for one in table["rows"]] == [0.375, 0.375]
    assert [one["reached"] for one in table["rows"]] == [True, False]  # 16 numbers at 500/s are 8,000/s
    assert scaling_table(table).rows[1][0] == "16 numbers (did not reach its rate)"


def test_a_report_without_sending_says_what_it_measured_and_nothing_of_messages() -> None:
    content = stages_report()
    said = headline(content)
    assert said.startswith(
        "Plan an audience: 175,000 rows/s; receive statuses, one a POST: 21,000 statuses/s"
    )
    assert said.endswith("a message costs 1.35 × as much with 16 numbers as with one number.")
    assert ("sent", "–") in conditions_rows(content)


def test_a_report_from_before_they_were_measured_is_read(tmp_path: Path) -> None:
    content = report()
    assert content["stages"] == content["scaling"] == []
    older = {name: value for name, value in content.items() if name not in ("stages", "scaling")}
    (tmp_path / "report.json").write_bytes(orjson.dumps(older))
    assert not list(compare(read_report(tmp_path), content).missing)


def test_a_mean_above_the_limit_is_explained_and_a_second_above_it_is_reported() -> None:
    content = report()
    content["pace"][1]["reached"]["most"] = 1.0025
    assert any("makes up for a late start; no second" in note for note in notes(content))
    content["pace"][1]["largest_at_service"]["most"] = 1.01
    assert any("a second held more messages than the limit" in warning for warning in warnings(content))
    assert not any("above the limit" in note for note in notes(report()))
