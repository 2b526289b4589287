"""The worker processes, in which measurements run.

    python -m drumbeat.benchmarks.harness.workers MODULE:FUNCTION

The worker imports the function and writes `{"ready": true}`. It reads one line of JSON (its cores and the
function's arguments) and writes one: the fields of the dataclass that the function returned. If stdin closes
first, the benchmark is gone and the worker exits.
"""

from __future__ import annotations

import os
import select
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from importlib import import_module
from typing import IO, Any

import orjson

from drumbeat.benchmarks.harness.machine import move_to
from drumbeat.benchmarks.harness.processes import BenchmarkFailed, Process, first_line, last_line, started
from drumbeat.engine.process.telemetry import configure_logging

EXIT_ORPHANED = 70
POLL_PERIOD_S = 0.25

Arguments = Mapping[str, Any]


def run_worker(
    function: str,
    arguments: Arguments,
    cores: Sequence[int],
    longest_s: float,
    poll: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """Call `function` as `run_workers` does, in a single worker on these cores."""
    (result,) = run_workers(function, [arguments], [cores], longest_s, poll)
    return result


def run_workers(
    function: str,
    arguments: Sequence[Arguments],
    cores: Sequence[Sequence[int]],
    longest_s: float,
    poll: Callable[[], None] = lambda: None,
) -> list[dict[str, Any]]:
    """Call `function` (`module:function`) in a worker for each entry of `arguments`, on its own cores.

    All begin together, once every worker is ready. `poll` is called several times a second meanwhile.
    BenchmarkFailed if one ends without a result, or if they take longer than `longest_s`.
    """
    with ExitStack() as stack:
        workers: list[tuple[Process, IO[bytes]]] = []
        for _ in arguments:
            errors: IO[bytes] = stack.enter_context(tempfile.TemporaryFile())
            command = ["-m", "drumbeat.benchmarks.harness.workers", function]
            workers.append((stack.enter_context(started(command, feed=True, stderr=errors)), errors))
        for process, errors in workers:
            if not first_line(process):
                raise BenchmarkFailed(f"a measurement did not start: {last_line(errors)}")
        for (process, _), given, pinned in zip(workers, arguments, cores, strict=True):
            assert process.stdin is not None
            process.stdin.write(orjson.dumps({"cores": pinned, "arguments": given}) + b"\n")
            process.stdin.flush()
        return _results(workers, time.monotonic() + longest_s, poll)


def _results(
    workers: Sequence[tuple[Process, IO[bytes]]], deadline_s: float, poll: Callable[[], None]
) -> list[dict[str, Any]]:
    waiting = {process.stdout: errors for process, errors in workers if process.stdout is not None}
    results: list[dict[str, Any]] = []
    while waiting:
        if time.monotonic() > deadline_s:
            raise BenchmarkFailed("a measurement took longer than its limit")
        ready, _, _ = select.select(list(waiting), [], [], POLL_PERIOD_S)
        for pipe in ready:
            line, errors = pipe.readline(), waiting.pop(pipe)
            if not line:
                raise BenchmarkFailed(f"a measurement ended without a result: {last_line(errors)}")
            if not line.endswith(b"\n"):
                raise BenchmarkFailed(f"a measurement ended while it wrote its result: {last_line(errors)}")
            results.append(orjson.loads(line))
        poll()
    return results


def main(name: str) -> None:
    """Do one order in the worker process, and write its result."""
    configure_logging()  # to stderr: stdout is for the result
    module, _, attribute = name.partition(":")
    function = getattr(import_module(module), attribute)
    _write({"ready": True})
    line = sys.stdin.buffer.readline()
    if not line:
        return
    threading.Thread(target=_exit_with_stdin, daemon=True).start()
    order = orjson.loads(line)
    move_to(order["cores"])
    _write(asdict(function(**order["arguments"])))


def _exit_with_stdin() -> None:
    sys.stdin.buffer.read()
    os._exit(EXIT_ORPHANED)


def _write(content: dict[str, Any]) -> None:
    sys.stdout.buffer.write(orjson.dumps(content) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(sys.argv[1])
