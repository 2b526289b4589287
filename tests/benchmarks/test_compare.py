"""Two reports are compared figure by figure."""

from dataclasses import replace
from typing import Any

import pytest

from drumbeat.benchmarks.report.compare import compare
from drumbeat.benchmarks.report.text import comparison_table
from tests.benchmarks.samples import CONDITIONS, LOAD, report, stages_report
from tests.benchmarks.test_report import sender


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


def test_a_baseline_that_changed_shows_a_change_of_the_machine() -> None:
    slower = report()
    loop = sender(slower, "plain_loop")["cpu_us"]
    loop |= {"median": 150.0, "least": 149.0, "most": 151.0, "values": [150.0, 149.0, 151.0]}
    (difference,) = compare(report(), slower).differences
    assert (
        difference
        == 'machine: the baseline "plain aiohttp loop" used +50.0 % CPU; compare the ratios instead'
    )
    engine = sender(slower, "engine")["cpu_us"]
    engine |= loop
    assert compare(report(), slower).differences == (difference,)


def test_a_comparison_names_another_machine_another_load_and_missing_figures() -> None:
    other = report(conditions=replace(CONDITIONS, cores=8, load=3.0), load=replace(LOAD, latency_ms=50.0))
    other["senders"] = other["senders"][:2]
    found = compare(report(), other)
    assert "cores: 2 and 8" in found.differences
    assert "load, latency_ms: 5.0 and 50.0" in found.differences
    assert "load average: 0.25 and 3.0" in found.differences
    assert found.missing == ("only A has first script",)


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
    assert verdicts_by_row["plan an audience", "rate ÷ baseline's rate"] == "same"
    assert verdicts_by_row["one number", "CPU µs a message"] == "same"
    assert found.missing == ("only A has 16 numbers",)
    assert comparison_table(found).rows[0][:3] == (
        "plan an audience",
        "per second",
        "175,000 (150,000–200,000)",
    )


def rewritten(content: dict[str, Any], values: list[float]) -> dict[str, Any]:
    """A figure over repeats with these values, the median first."""
    return content | {"median": values[0], "least": min(values), "most": max(values), "values": values}


def test_reply_times_and_throttles_stand_beside_each_other() -> None:
    rows = {(row.what, row.figure): row for row in compare(report(), report()).rows}
    assert rows["engine, durable", "p50 ms"].a["values"] == [1.5] * 3
    assert rows["engine, durable", "p99 ms"].b["median"] == 2.75
    assert rows["pace of one number", "p99 ms"].own
    assert rows["pace of engine, durable", "throttled requests"].a["median"] == 0.0625
    assert not rows["plain aiohttp loop", "p99 ms"].own


def test_a_report_that_has_reply_times_of_one_repeat_only_is_compared_too() -> None:
    older = report()
    for entry in (*older["senders"], *older["pace"]):
        del entry["latency_spread_ms"]
    rows = {(row.what, row.figure): row for row in compare(older, report()).rows}
    assert rows["engine, durable", "p99 ms"].a["values"] == [2.75]


@pytest.mark.parametrize(
    ("values", "share", "counts"),
    [
        ([3.3, 3.2, 3.4], 0.1, True),  # 20 % more
        ([3.3, 3.2, 3.4], 0.25, False),
        ([3.3, 2.7, 3.4], 0.1, False),  # within the spread
        ([2.0, 1.9, 2.1], 0.1, False),  # better
        ([3.3], 0.1, True),  # one repeat has no spread
    ],
)
def test_what_counts_as_worse_is_beyond_the_share_and_the_spread(
    values: list[float], share: float, counts: bool
) -> None:
    slower = report()
    p99 = sender(slower, "engine")["latency_spread_ms"]["p99"]
    sender(slower, "engine")["latency_spread_ms"]["p99"] = rewritten(p99, values)
    worse = compare(report(), slower).worse_than(share)
    assert [(row.what, row.figure) for row in worse] == ([("engine, durable", "p99 ms")] if counts else [])


def test_less_of_what_should_be_more_is_worse_and_a_baseline_never_counts() -> None:
    slower = report()
    for name in ("engine", "plain_loop"):
        figures = sender(slower, name)
        figures["per_s"] = rewritten(figures["per_s"], [100.0, 101.0, 99.0])
    worse = compare(report(), slower).worse_than(0.1)
    assert [(row.what, row.figure) for row in worse] == [("engine, durable", "messages/s")]
    assert compare(slower, report()).worse_than(0.0) == ()


def test_a_figure_that_was_0_is_worse_by_more_than_any_share() -> None:
    calm, throttled = report(), report()
    calm["pace"][0]["throttled"] = rewritten(calm["pace"][0]["throttled"], [0.0, 0.0, 0.0])
    (row,) = compare(calm, throttled).worse_than(9.0)
    assert (row.figure, row.change) == ("throttled requests", None)
