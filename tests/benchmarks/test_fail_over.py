"""`bench compare --fail-over` gives CI a verdict by its exit code."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.benchmarks.samples import LOAD, report, stages_report
from tests.cli.processes import Drumbeat


def kept(directory: Path, **reports: dict[str, Any]) -> list[str]:
    for name, content in reports.items():
        (directory / f"{name}.json").write_bytes(orjson.dumps(content))
    return [f"{name}.json" for name in reports]


def test_a_report_that_got_worse_ends_with_3_and_names_the_figures(
    drumbeat: Drumbeat, tmp_path: Path
) -> None:
    files = kept(tmp_path, a=report(), b=report(engine=[1_200.0, 1_210.0, 1_190.0]))
    assert drumbeat("bench", "compare", *files).exit_code == 0
    assert drumbeat("bench", "compare", *files, "--fail-over", "30%").exit_code == 0
    failed = drumbeat("bench", "compare", *files, "--fail-over", "10 %", "--json")
    assert failed.exit_code == 3
    assert "worse by more than 10 %: engine, durable, messages/s -20.0 %" in failed.complaint
    found = orjson.loads(failed.stdout)
    assert found["error"]["code"] == "got_worse"
    assert found["error"]["exit_code"] == 3
    assert {row["figure"] for row in found["rows"]} >= {"p50 ms", "p99 ms", "throttled requests"}
    assert drumbeat("bench", "compare", *reversed(files), "--fail-over", "0%").exit_code == 0


def test_what_cannot_be_judged_never_passes(drumbeat: Drumbeat, tmp_path: Path) -> None:
    other = report(load=replace(LOAD, numbers=4))
    a, b, stages, part = kept(
        tmp_path, a=report(), b=other, stages=stages_report(), part=report() | {"pace": report()["pace"][:1]}
    )
    loads = drumbeat("bench", "compare", a, b, "--fail-over", "10%")
    assert (loads.exit_code, "different loads" in loads.complaint) == (78, True)
    lacking = drumbeat("bench", "compare", a, stages, "--fail-over", "10%")
    assert (lacking.exit_code, "B lacks engine, durable" in lacking.complaint) == (78, True)
    lacking = drumbeat("bench", "compare", a, part, "--fail-over", "10%")
    assert (lacking.exit_code, "B lacks one number" in lacking.complaint) == (78, True)
    assert drumbeat("bench", "compare", part, a, "--fail-over", "10%").exit_code == 0
    assert drumbeat("bench", "compare", a, stages).exit_code == 0


@pytest.mark.parametrize("text", ["10", "-1%", "ten%", "1001%", "nan%"])
def test_what_is_no_percentage_is_a_usage_error(drumbeat: Drumbeat, tmp_path: Path, text: str) -> None:
    (file,) = kept(tmp_path, a=report())
    done = drumbeat("bench", "compare", file, file, "--fail-over", text)
    assert done.exit_code == 2
    assert "is not a percentage" in done.complaint
