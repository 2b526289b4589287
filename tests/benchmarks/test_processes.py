"""Processes of a bench end with it, and a signal never leaves one half started."""

import signal
import tempfile

import pytest

from drumbeat.benchmarks.harness.processes import (
    BenchmarkFailed,
    first_line,
    held_signals,
    listening,
    started,
)
from drumbeat.campaigns import child_processes as ending

WORKER = ["-m", "drumbeat.benchmarks.harness.workers", "drumbeat.benchmarks.planning:measure"]


def test_a_signal_waits_for_the_end_of_the_block() -> None:
    done = False
    with pytest.raises(KeyboardInterrupt), held_signals():
        signal.raise_signal(signal.SIGINT)
        done = True
    assert done
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_process_ends_with_its_block_even_if_it_ignores_the_question(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ending, "END_S_MAX", 0.5)
    stubborn = "import signal, time; signal.signal(15, signal.SIG_IGN); print(1, flush=True); time.sleep(600)"
    with (
        tempfile.TemporaryFile() as errors,
        pytest.raises(ZeroDivisionError),
        started(["-c", stubborn], stderr=errors) as process,
    ):
        assert first_line(process)
        raise ZeroDivisionError
    assert process.returncode == -signal.SIGKILL


def test_a_sender_ends_when_nobody_listens_to_it_any_more() -> None:
    with tempfile.TemporaryFile() as errors, started(WORKER, feed=True, stderr=errors) as process:
        assert first_line(process) == b'{"ready":true}\n'
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(30) == 0


def test_the_error_of_a_service_that_does_not_start_quotes_it() -> None:
    with (
        pytest.raises(BenchmarkFailed, match=r"emulator serve.*did not start.*PNID:RATE"),
        listening("emulator", "serve", "--port", "0", "--number", "x:1"),
    ):
        pass
