"""Cron, pipes and full disks: output that cannot be written stops no campaign; a lost result has an exit code."""

import errno
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
import typer

from drumbeat.campaigns.cli import main
from tests.cli.processes import COMMAND, ROOT, Drumbeat, Service
from tests.cli.test_shapes import create

FULL = Path("/dev/full")


def environment(drumbeat: Drumbeat) -> dict[str, str]:
    settings = {f"DRUMBEAT_{name.upper()}": value for name, value in drumbeat.settings.items()}
    return {**os.environ, "PYTHONPATH": str(ROOT), "XDG_RUNTIME_DIR": "", **settings}


@contextmanager
def nobody_reads() -> Iterator[int]:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        yield writing
    finally:
        os.close(writing)


@contextmanager
def full_disk() -> Iterator[int]:
    with FULL.open("wb") as file:
        yield file.fileno()


@pytest.mark.parametrize("stderr", [nobody_reads, full_disk])
def test_a_log_that_cannot_be_written_stops_no_campaign(
    drumbeat: Drumbeat, synced: Service, audience: Path, stderr: Callable[[], AbstractContextManager[int]]
) -> None:
    create(drumbeat, audience)
    with stderr() as broken:
        done = subprocess.run(
            [*COMMAND, "campaign", "run", "spring"],
            stdout=subprocess.PIPE,
            stderr=broken,
            cwd=drumbeat.directory,
            env=environment(drumbeat),
        )
    assert done.returncode == 0
    assert b"spring: finished" in done.stdout
    assert synced.accepted() == 10


@pytest.mark.parametrize("closed", ["2>&-", ">&- 2>&- <&-"])
def test_a_campaign_is_sent_with_streams_that_are_closed(
    drumbeat: Drumbeat, synced: Service, audience: Path, closed: str
) -> None:
    """Otherwise the database's connection gets the descriptor of stderr, and messages are written into it."""
    create(drumbeat, audience)
    words = ["sh", "-c", f'exec "$@" {closed}', "sh", *COMMAND, "campaign", "run", "spring"]
    done = subprocess.run(words, cwd=drumbeat.directory, env=environment(drumbeat))
    assert done.returncode == 0
    assert synced.accepted() == 10


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", [("--version",), ("campaign", "list", "--json"), ("suppress", "list")])
def test_a_result_that_cannot_be_written_is_a_line_and_78(
    drumbeat: Drumbeat, words: tuple[str, ...], unbuffered: str
) -> None:
    with full_disk() as stdout:
        done = subprocess.run(
            [*COMMAND, *words],
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            cwd=drumbeat.directory,
            env={**environment(drumbeat), "PYTHONUNBUFFERED": unbuffered},
        )
    assert done.stderr == "drumbeat: cannot write to stdout: No space left on device\n"
    assert done.returncode == 78


def test_how_a_run_ended_counts_for_more_than_a_summary_that_is_lost(
    drumbeat: Drumbeat, synced: Service, audience: Path
) -> None:
    create(drumbeat, audience)
    drumbeat.ok("campaign", "cancel", "spring")
    with full_disk() as stdout:
        done = subprocess.run(
            [*COMMAND, "campaign", "run", "spring", "--quiet"],
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            cwd=drumbeat.directory,
            env=environment(drumbeat),
        )
    assert done.returncode == 3
    assert "drumbeat: cancelled" in done.stderr
    assert "drumbeat: cannot write to stdout: No space left on device\n" in done.stderr


def test_a_broken_pipe_that_is_not_stdout_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    breaking = typer.Typer()

    @breaking.callback(invoke_without_command=True)
    def _break() -> None:
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    monkeypatch.setattr(main, "app", breaking)
    for name in ("stdout", "stderr"):  # the library puts others in their place
        monkeypatch.setattr(sys, name, getattr(sys, name))
    assert main._run([]) == 1
    assert "unexpected error: BrokenPipeError" in capsys.readouterr().err
