"""The bench as a user starts it: short, real, and gone without a trace but its report."""

import os
import signal
from pathlib import Path
from typing import Any

import orjson
import psutil
import pytest

from drumbeat.campaigns.cli import bench
from drumbeat.engine.errors import ConfigurationError
from tests.benchmarks.samples import report
from tests.cli.processes import Drumbeat, Service, children_of, leftovers, serving, until

SHORT = ("bench", "--duration", "2", "--repeats", "1", "--quiet")
NAMES = ["engine", "plain_loop", "tuned_loop", "first_script", "engine_transport", "raw_protocol"]
STAGES = ["plan", "receive_one", "receive_hundred", "apply_close", "apply_alone"]


def read(scratch: Path) -> Any:
    return orjson.loads((scratch / "report.json").read_bytes())


def test_a_short_bench_measures_one_part_and_leaves_nothing_else(
    drumbeat: Drumbeat, scratch: Path, tmp_path: Path
) -> None:
    load = ("--numbers", "2", "--rate", "100", "--events", "--only", "throughput")
    report = drumbeat.ok(*SHORT, *load, "--json", "--output", "kept").json
    assert report == read(tmp_path / "kept")
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == ["report.json"]
    engine = report["senders"][0]
    assert engine["per_s"]["median"] > 0
    assert engine["events"]["applied"] == 3 * engine["messages"][0]
    assert leftovers(scratch) == []
    again = drumbeat(*SHORT, "--output", "kept")
    assert again.exit_code == 78
    assert "has a report already" in again.complaint


@pytest.mark.slow
def test_a_bench_measures_keeps_a_report_and_leaves_nothing_else(
    drumbeat: Drumbeat, scratch: Path, tmp_path: Path
) -> None:
    done = drumbeat.ok(*SHORT, "--numbers", "2", "--rate", "150", "--json", "--output", "kept")
    assert done.stderr == ""
    assert leftovers(scratch) == []
    report = done.json
    assert report == read(tmp_path / "kept")
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == ["report.json"]
    assert report["schema"] == 1
    assert [entry["name"] for entry in report["senders"]] == NAMES
    assert [entry["name"] for entry in report["pace"]] == ["engine", "one_number"]
    for entry in report["senders"]:
        assert entry["per_s"]["median"] > 0
        assert entry["cpu_us"]["median"] > 0
        assert 0 < entry["latency_ms"]["p50"] <= entry["latency_ms"]["p99"]
    for entry in report["pace"]:
        assert 0 < entry["largest_at_service"]["most"] <= 1
        assert len(entry["by_second"]) == entry["load"]["numbers"]
    # All senders were offered the same rate.
    engine = report["senders"][0]
    assert all(entry["per_s"]["median"] < 2 * 150 * 1.5 for entry in report["senders"])
    assert report["headroom"]["could_carry_per_s"]["median"] > engine["per_s"]["median"]
    assert [entry["name"] for entry in report["stages"]] == STAGES
    for entry in report["stages"]:
        assert entry["count"][0] > 0
        assert entry["baseline"]["per_s"]["median"] > 0
        assert entry["of_baseline"]["median"] == pytest.approx(
            entry["per_s"]["median"] / entry["baseline"]["per_s"]["median"], rel=1e-4
        )
        assert entry["cpu_us"]["median"] > 0
        assert entry["database_us"]["median"] > 0
        assert (entry["p99_ms"] is not None) == entry["name"].startswith("receive")
    assert report["stages"][0]["count"] == [300_000]
    assert report["stages"][3]["count"] == [3 * 6_000 * 2]

    compared = drumbeat.ok("bench", "compare", "kept", "kept/report.json", "--json").json
    assert {row["verdict"] for row in compared["rows"]} == {"same"}


@pytest.mark.slow
def test_processes_share_the_numbers_and_events_come_back(drumbeat: Drumbeat, scratch: Path) -> None:
    load = ("--numbers", "3", "--rate", "100", "--processes", "2", "--events", "--only", "throughput")
    report = drumbeat.ok(*SHORT, *load, "--json").json
    engine, alone = report["senders"][:2]
    assert (engine["name"], alone["name"]) == ("engine", "engine_alone")
    for entry in (engine, alone):
        assert entry["events"]["applied"] % 3 == 0
        assert entry["events"]["applied"] == 3 * entry["messages"][0]
    assert leftovers(scratch) == []


def test_an_emulator_that_stands_is_used_and_left_as_it_was(drumbeat: Drumbeat, scratch: Path) -> None:
    with serving(drumbeat, "emulator", "serve", "--port", "0", "--number", "1:80") as url:
        service = Service(url)
        options = ("--numbers", "2", "--rate", "100", "--only", "pacing", "--service", url)
        report = drumbeat.ok(*SHORT, *options, "--json").json
        assert report["load"]["numbers"] == report["pace"][0]["load"]["numbers"] == 2
        assert len(report["pace"][0]["by_second"]) == 2
        assert report["service"] == url
        assert service.accepted() >= sum(map(sum, report["pace"][0]["by_second"].values())) > 0
        assert service.get("overview")["statuses_on"]
        assert service.get("ledger/summary")["numbers"]["1"]["accepted"] == 0
    assert leftovers(scratch) == []


@pytest.mark.parametrize("service", ["http://127.0.0.1:9", "https://graph.service.example", "nonsense"])
def test_what_is_no_emulator_is_refused_before_anything_starts(
    drumbeat: Drumbeat, scratch: Path, tmp_path: Path, service: str
) -> None:
    done = drumbeat(*SHORT, "--service", service, "--output", "kept")
    assert done.exit_code == 78
    assert "nothing was sent" in done.complaint
    assert done.stdout == ""
    assert not (tmp_path / "kept").exists()
    assert leftovers(scratch) == []


@pytest.mark.long
@pytest.mark.parametrize(("number", "exit_code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_bench_that_is_stopped_leaves_nothing(
    drumbeat: Drumbeat, scratch: Path, tmp_path: Path, number: int, exit_code: int
) -> None:
    bench = drumbeat.start("bench", "--duration", "60", "--numbers", "2", "--rate", "50", "--output", "kept")
    until(
        lambda: any("drumbeat.benchmarks.harness.workers" in words for words in children_of(bench.pid)),
        "it sends",
    )
    os.kill(bench.pid, number)
    _, stderr = bench.communicate(timeout=60)
    assert bench.returncode == exit_code, stderr
    assert "Traceback" not in stderr
    assert leftovers(scratch) == []
    assert not (tmp_path / "kept").exists()


@pytest.mark.long
def test_a_bench_that_is_killed_leaves_nothing_either(drumbeat: Drumbeat, scratch: Path) -> None:
    bench = drumbeat.start("bench", "--duration", "60", "--numbers", "2", "--rate", "50", "--output", "kept")
    until(
        lambda: any("drumbeat.benchmarks.harness.workers" in words for words in children_of(bench.pid)),
        "it sends",
    )
    family = psutil.Process(bench.pid).children(recursive=True)
    assert any("emulator" in child.cmdline() for child in family)
    assert any("/postgres" in words for words in leftovers(scratch))
    bench.kill()
    bench.wait()
    until(lambda: not any(child.is_running() for child in family), "its children end")
    until(lambda: leftovers(scratch) == [], "its Postgres ends")


@pytest.mark.long
def test_a_bench_that_is_killed_while_it_receives_ends_the_receiver_too(
    drumbeat: Drumbeat, scratch: Path
) -> None:
    bench = drumbeat.start("bench", "--duration", "60", "--only", "receiving", "--output", "kept")
    until(lambda: any("spawn_main" in words for words in children_of(bench.pid)), "it receives")
    family = psutil.Process(bench.pid).children(recursive=True)
    bench.kill()
    bench.wait()
    until(lambda: not any(child.is_running() for child in family), "its children end")
    until(lambda: leftovers(scratch) == [], "its Postgres ends")


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("--processes", "3", "--numbers", "2"), "at least as many --numbers"),
        (("--service", "http://127.0.0.1:9", "--events"), "--events needs the bench's own emulator"),
        (("--service", "http://127.0.0.1:9", "--latency-ms", "5"), "has its own latency"),
        (("--jitter", "0.3"), "--jitter spreads the reply times"),
        (("--only", "planning", "--jitter", "0.3"), "--jitter changes nothing of planning"),
        (("--duration", "1"), "--duration"),
        (("--duration", "2", "--rate", "9"), "fewer than 20 messages"),
        (("--only", "everything"), "--only"),
        (("--only", "planning", "--numbers", "4"), "--numbers changes nothing of planning"),
        (("--only", "scaling", "--rate", "80"), "--rate changes nothing of scaling"),
        (("--only", "scaling", "--duration", "5"), "--duration changes nothing of scaling"),
        (
            ("--only", "receiving", "--only", "applying", "--service", "http://127.0.0.1:9"),
            "--service changes",
        ),
        (("--only", "pacing", "--processes", "2"), "at least as many --numbers"),
        (("--only", "pacing", "--only", "Planning"), "'Planning' is not a part"),
    ],
)
def test_what_cannot_be_measured_is_a_usage_error(
    drumbeat: Drumbeat, words: tuple[str, ...], part: str
) -> None:
    done = drumbeat("bench", *words)
    assert done.exit_code == 2
    assert part in done.complaint


@pytest.mark.parametrize(
    "content",
    [
        '{"schema":1,"senders":[],"pace":[],"conditions":{}}',
        '{"schema":1,"senders":[7],"pace":[],"conditions":{},"load":{}}',
        '{"schema":1,"senders":null,"pace":[],"conditions":[]}',
    ],
)
def test_an_unreadable_report_is_reported_as_such(drumbeat: Drumbeat, tmp_path: Path, content: str) -> None:
    (tmp_path / "a.json").write_text(content)
    done = drumbeat("bench", "compare", "a.json", "a.json")
    assert done.exit_code == 78
    assert "not a complete report" in done.complaint


@pytest.mark.parametrize("kind", ["file", "read-only"])
def test_where_no_report_can_be_written_nothing_is_measured(
    drumbeat: Drumbeat, scratch: Path, tmp_path: Path, kind: str
) -> None:
    if kind == "file":
        (tmp_path / "kept").touch()
    done = drumbeat(*SHORT, "--output", "kept" if kind == "file" else "/proc/self")
    assert done.exit_code == 78
    assert "report" in done.complaint
    assert done.stdout == ""
    assert leftovers(scratch) == []


def test_figures_outlive_a_report_that_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    request = bench.SuiteRequest(bench.Load(1, 80.0, duration_s=2.0), 1, ("pacing",), None, "drumbeat bench")
    monkeypatch.setattr(bench, "run_suite", lambda *_: None)
    in_the_way = tmp_path / "kept" / ".report.json.part"
    monkeypatch.setattr(bench, "report_of", lambda _: in_the_way.mkdir() or report())
    with pytest.raises(ConfigurationError, match="cannot be written"):
        bench._measure(request, tmp_path / "kept", quiet=True, as_json=False)
    assert "The engine sent 1,500 messages/s" in capsys.readouterr().out


def test_pacing_alone_measures_the_numbers_that_were_asked_for(drumbeat: Drumbeat) -> None:
    pacing = ("bench", "--dry-run", "--only", "pacing", "--rate", "250")
    assert "one number at 250/s" in drumbeat.ok(*pacing).stdout
    assert "4 numbers at 250/s" in drumbeat.ok(*pacing, "--numbers", "4").stdout
    beside = drumbeat.ok(*pacing, "--only", "throughput", "--numbers", "4").stdout
    assert "one number at 250/s" in beside  # the engine's row shows the pace of four


def test_a_dry_run_says_what_would_be_measured(drumbeat: Drumbeat, scratch: Path, tmp_path: Path) -> None:
    done = drumbeat.ok("bench", "--dry-run", "--repeats", "2")
    assert done.stdout.count("2 times") == 7 + 5
    assert "1,000,000 rows" in done.stdout
    plan = drumbeat.ok("bench", "--dry-run", "--repeats", "2", "--json").json
    assert len(plan["measurements"]) == 7 + 5
    assert {"what": "plan an audience", "amount": "1,000,000 rows", "repeats": 2} in plan["measurements"]
    assert plan["takes_s"] > 0
    assert leftovers(scratch) == []
    assert not list(tmp_path.glob("bench-*"))
