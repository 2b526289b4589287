"""A campaign is steered from another process while it runs, and a signal ends a run in order."""

import fcntl
import os
import pty
import signal
import subprocess
import termios
import time
from contextlib import suppress
from threading import Thread

import pytest

from tests.acceptance.conftest import Scene
from tests.cli.processes import COMMAND, until
from tests.cli.test_streams import environment

# More than any of these tests lets through at 80/s.
PEOPLE = 20_000
# Promised: a second for a pause, 5 s for a drain. The rest is for a machine that many tests share.
STEERED_S, DRAINED_S = 1.0 + 2.0, 5.0 + 5.0


def last_write_s(scene: Scene) -> float:
    """When the service received the last message; the same clock as time.monotonic()."""
    return float(scene.service.ledger()[-1]["received_at_ns"]) / 1e9


def test_a_pause_stops_within_a_second_and_a_resume_continues(scene: Scene) -> None:
    scene.create(PEOPLE, numbers=("1",))
    run = scene.drumbeat.start("campaign", "run", "spring", "--quiet")
    until(lambda: scene.service.accepted() > 50, "it sends")
    scene.drumbeat.ok("campaign", "pause", "spring")
    paused_s = time.monotonic()
    _, stderr = run.communicate(timeout=30)
    assert run.returncode == 75
    assert "paused by hand" in stderr
    assert last_write_s(scene) - paused_s < STEERED_S
    counts = scene.counts()
    assert counts["unknown"] == 0
    assert counts["pending"] > 0
    sent = scene.service.accepted()

    refused = scene.drumbeat("campaign", "run", "spring", "--quiet")
    assert refused.exit_code == 75
    assert "paused by hand" in refused.complaint
    assert scene.service.accepted() == sent

    scene.drumbeat.ok("campaign", "resume", "spring")
    again = scene.drumbeat.start("campaign", "run", "spring", "--quiet")
    until(lambda: scene.service.accepted() > sent, "it goes on")
    again.terminate()
    again.communicate(timeout=30)
    recipients = scene.service.recipients()
    assert len(recipients) == len(set(recipients))


def test_a_cancel_ends_it_for_good_and_skips_whom_nobody_wrote_to(scene: Scene) -> None:
    scene.create(PEOPLE, numbers=("1",))
    run = scene.drumbeat.start("campaign", "run", "spring", "--quiet")
    until(lambda: scene.service.accepted() > 50, "it sends")
    scene.drumbeat.ok("campaign", "cancel", "spring")
    cancelled_s = time.monotonic()
    _, stderr = run.communicate(timeout=30)
    assert run.returncode == 3
    assert "drumbeat: cancelled (cancelled by hand): " in stderr
    assert last_write_s(scene) - cancelled_s < STEERED_S
    until(scene.events_delivered, "every event was delivered")
    counts = scene.counts()
    assert counts["pending"] == counts["deferred"] == counts["unknown"] == 0
    assert counts["skipped"] == PEOPLE - scene.service.accepted()
    assert scene.state() == "cancelled"


@pytest.mark.parametrize(
    ("numbers", "exit_code"),
    [
        ((signal.SIGTERM,), 143),
        ((signal.SIGINT,), 130),
        ((signal.SIGHUP, signal.SIGHUP), 129),  # of a terminal that closes, and of its shell
        ((signal.SIGTERM, signal.SIGHUP), 143),  # of a service manager, in either order
        ((signal.SIGHUP, signal.SIGTERM), 143),
    ],
)
def test_a_signal_drains_and_leaves_the_campaign_running(
    scene: Scene, numbers: tuple[int, ...], exit_code: int
) -> None:
    scene.create(PEOPLE)
    run = scene.drumbeat.start("campaign", "run", "spring", "--quiet")
    until(lambda: scene.service.accepted() > 500, "it sends")
    for number in numbers:
        run.send_signal(number)
    asked_s = time.monotonic()
    stdout, _ = run.communicate(timeout=30)
    assert run.returncode == exit_code
    assert "no process sends it now; continue with: drumbeat campaign run spring (a worker" in stdout
    assert "left" not in stdout
    assert time.monotonic() - asked_s < DRAINED_S
    assert scene.state() == "running"
    accepted = scene.service.accepted()
    counts = scene.counts()
    assert counts["unknown"] == 0
    assert PEOPLE - counts["pending"] - counts["deferred"] == accepted


def test_a_terminal_that_closes_leaves_nobody_in_doubt(scene: Scene) -> None:
    """Nothing can be read from the terminal or written to it any more: neither the live view nor the summary."""
    scene.create(PEOPLE)
    ours, its = pty.openpty()

    def own_the_terminal() -> None:
        os.setsid()
        fcntl.ioctl(its, termios.TIOCSCTTY, 0)

    def read_on() -> None:
        with suppress(OSError):
            while os.read(ours, 65536):
                pass

    run = subprocess.Popen(
        [*COMMAND, "campaign", "run", "spring"],
        stdin=its,
        stdout=its,
        stderr=its,
        cwd=scene.drumbeat.directory,
        env={**environment(scene.drumbeat), "TERM": "xterm"},
        preexec_fn=own_the_terminal,
    )
    os.close(its)
    Thread(target=read_on, daemon=True).start()
    try:
        until(lambda: scene.service.accepted() > 500, "it sends")
        os.close(ours)
        assert run.wait(timeout=30) == 129
    finally:
        if run.poll() is None:
            run.kill()
            run.wait()
    counts = scene.counts()
    assert counts["unknown"] == 0
    assert PEOPLE - counts["pending"] - counts["deferred"] == scene.service.accepted()


def test_a_run_under_nohup_outlives_its_terminal(scene: Scene) -> None:
    scene.create(600)
    run = subprocess.Popen(
        ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", *COMMAND, "campaign", "run", "spring", "--quiet"],
        stdout=subprocess.PIPE,
        cwd=scene.drumbeat.directory,
        env=environment(scene.drumbeat),
    )
    until(lambda: scene.service.accepted() > 50, "it sends")
    run.send_signal(signal.SIGHUP)
    run.communicate(timeout=60)
    assert run.returncode == 0
    assert scene.service.accepted() == 600


def test_a_new_limit_is_followed_by_the_run(scene: Scene) -> None:
    scene.create(PEOPLE, numbers=("2",))
    scene.drumbeat.ok("numbers", "limit", "2", "5")
    run = scene.drumbeat.start("campaign", "run", "spring", "--quiet")
    until(lambda: scene.service.accepted() > 3, "it sends slowly")
    slow = scene.service.accepted()
    assert slow < 100
    scene.drumbeat.ok("numbers", "limit", "2", "service")
    until(lambda: scene.service.accepted() > 1_000, "it sends at the service's limit", timeout_s=30)
    run.terminate()
    run.communicate(timeout=30)
