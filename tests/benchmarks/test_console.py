"""The benchmark of the console: its short form as a whole, and its arithmetic with plain values."""

import shutil
import subprocess
import sys

import pytest

from drumbeat.benchmarks.viewing.tab import Course
from drumbeat.benchmarks.viewing.turns import Turns, Window
from drumbeat.benchmarks.viewing.view_times import p95
from tests.cli.processes import ROOT

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
SHORT = ("200000", "--streams", "5", "--requests", "2", "--rate", "100", "--turns", "1", "--window", "1")
LONGEST_S = 600.0


def run(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "drumbeat.benchmarks.console", *SHORT, *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
        check=False,
    )
    assert done.returncode in {0, 1}, (
        done.stderr
    )  # whether the aims are reached is no matter of a busy machine
    return done.stdout


@pytest.mark.long
def test_every_view_is_timed_and_the_engine_goes_on_with_watchers() -> None:
    said = run("--only", "views", "--only", "watching")
    assert "/campaigns/{name}/recipients?state=failed" in said and "/api/v1/campaigns/{name}" in said
    assert "views have a p95 of" in said
    assert "watched ÷ not watched" in said and "transactions/s for 1 watcher" in said


@pytest.mark.long
@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium")
def test_the_memory_of_a_tab_and_of_the_servers_stays_flat() -> None:
    """For half a minute; `make console` for ten."""
    said = run("--only", "memory", "--minutes", "0.5")
    for name in ("tab: heap", "tab: nodes", "console: resident", "receiver: resident"):
        assert name in said
    assert "GROWS" not in said


def course(*values: float) -> Course:
    return Course("heap", "KiB", tuple(5.0 * step for step in range(len(values))), values)


def test_a_course_that_scatters_is_flat_and_one_that_climbs_is_not() -> None:
    scatter = [(-1) ** step * 40.0 for step in range(120)]
    assert course(*(1_000 + each for each in scatter)).is_flat
    climbs = course(*(1_000 + step + each for step, each in enumerate(scatter)))
    assert climbs.per_minute == pytest.approx(12, rel=0.02)
    assert climbs.growth_share == pytest.approx(0.11, rel=0.1)
    assert not climbs.is_flat


def test_ratios_are_of_pairs_so_a_drift_changes_nothing() -> None:
    speeds = (1_000.0, 500.0, 2_000.0)
    without = [Window(speed, 40.0, 0.0, 0.3) for speed in speeds]
    watched = [Window(0.99 * speed, 41.0, 0.02, 0.31) for speed in speeds]
    turns = Turns(without, watched)
    assert (turns.rate_ratio, turns.cpu_ratio) == (pytest.approx(0.99), pytest.approx(41 / 40))


def test_the_p95_of_a_hundred_is_the_ninety_fifth() -> None:
    assert p95([float(n) for n in range(1, 101)]) == pytest.approx(95, abs=0.5)
    assert p95([7.0]) == 7.0
