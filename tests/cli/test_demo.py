"""The demo checks what it claims, and leaves nothing behind, however it ends."""

import signal
from pathlib import Path

import pytest

from drumbeat.campaigns.audience.check.inspection import inspect_audience
from drumbeat.campaigns.audience.check.row_rules import RowRules
from drumbeat.campaigns.demo.audience import PARAMS, PHONE_COLUMN, write_audience
from tests.cli.processes import COMMAND_S_MAX, Drumbeat, leftovers, until


def test_the_audience_is_what_it_says_and_the_same_for_a_seed(tmp_path: Path) -> None:
    written = write_audience(tmp_path / "one.csv", rows=2_000, seed=7)
    write_audience(tmp_path / "two.csv", rows=2_000, seed=7)
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()
    found = inspect_audience(
        written.path, rejects_path=tmp_path / "rejects.csv", rules=RowRules(PHONE_COLUMN, PARAMS)
    )
    assert found.rows == written.rows == written.recipients + written.rejected + written.duplicates
    assert found.good == written.recipients + written.duplicates
    assert len(set(written.suppressed)) == 10
    assert len(found.reject_codes) >= 5


@pytest.mark.long
def test_a_demo_proves_itself_where_the_temporary_directory_is_none_for_postgres(
    drumbeat: Drumbeat, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = scratch / "with a space"
    odd.mkdir()
    monkeypatch.setenv("TMPDIR", str(odd))
    assert_it_proves_itself(drumbeat)
    assert list(odd.iterdir()) == []


@pytest.mark.slow
def test_a_demo_proves_itself_and_leaves_nothing(drumbeat: Drumbeat, scratch: Path) -> None:
    assert_it_proves_itself(drumbeat)
    assert leftovers(scratch) == []


def assert_it_proves_itself(drumbeat: Drumbeat) -> None:
    """It sends to all, and uses none of the user's settings."""
    done = drumbeat(
        "demo", "--rows", "400", base_url="http://127.0.0.1:9", access_token="other", product="other"
    )
    assert done.exit_code == 0, done.stderr
    assert "sent twice 0, forgotten 0, in doubt 0" in done.stdout
    assert "every row of the file and every recipient is accounted for" in done.stdout
    assert "400 rows = 388 recipients + 8 rejected + 4 duplicates" in done.stdout


@pytest.mark.long
@pytest.mark.parametrize(
    ("number", "exit_code"), [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow)]
)
def test_a_demo_that_is_stopped_leaves_nothing(
    drumbeat: Drumbeat, scratch: Path, number: int, exit_code: int
) -> None:
    log = drumbeat.directory / "demo.log"
    demo = drumbeat.start("demo", log=log)
    # ten commands come before: as long as a whole command may take
    until(
        lambda: "$ drumbeat campaign run" in log.read_text() or demo.poll() is not None,
        "the demo sends",
        COMMAND_S_MAX,
    )
    assert demo.poll() is None, log.read_text()
    demo.send_signal(number)
    demo.communicate(timeout=COMMAND_S_MAX)
    assert demo.returncode == exit_code, log.read_text()
    assert leftovers(scratch) == []
