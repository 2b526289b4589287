"""The command as a process: its exit code, what it wrote to stdout and to stderr."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import psutil

from tests.warm import COMMAND, ROOT, WarmPopen

COMMAND_S_MAX = 120.0
START_S_MAX = 60.0
TOKEN, SECRET, VERIFY, ACCOUNT = "emulator-token", "emulator-secret", "verify-me", "102290129340398"


@dataclass(frozen=True, slots=True)
class Done:
    """A command that has ended."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        return orjson.loads(self.stdout)

    @property
    def complaint(self) -> str:
        """The one line of a refusal; fails where there is none or more than one."""
        lines = [line for line in self.stderr.splitlines() if line.startswith("drumbeat: ")]
        assert len(lines) == 1, self.stderr
        assert "Traceback" not in self.stderr
        return lines[0]


@dataclass(slots=True)
class Drumbeat:
    """Starts commands with settings of their own, in a directory of their own.

    `cold`: each start is that of a new Python, for tests about the process itself. `source`: where the package
    is looked for first.
    """

    directory: Path
    settings: dict[str, str]
    cold: bool = False
    source: Path = ROOT
    _running: list[subprocess.Popen[str]] = field(default_factory=list)

    def __call__(self, *words: str | Path, **settings: str) -> Done:
        process = self.start(*words, **settings)
        try:
            stdout, stderr = process.communicate(timeout=COMMAND_S_MAX)
        except subprocess.TimeoutExpired:
            process.kill()
            stdout, stderr = process.communicate()
            raise AssertionError(f"{words} did not end: {stderr[-2000:]}") from None
        return Done(process.returncode, stdout, stderr)

    def start(self, *words: str | Path, log: Path | None = None, **settings: str) -> subprocess.Popen[str]:
        """Start a command and return at once; it ends with the test at the latest.

        `log`: where its stderr goes; a pipe that nobody reads would stop whoever has much to say.
        """
        kept = {name: value for name, value in os.environ.items() if not name.startswith("DRUMBEAT_")}
        own = {
            f"DRUMBEAT_{name.upper()}": value
            # any free port, since tests run at the same time
            for name, value in {"metrics_port": "0", **self.settings, **settings}.items()
            if value
        }
        errors = subprocess.PIPE if log is None else log.open("w")
        start = subprocess.Popen if self.cold else WarmPopen
        process = start(
            [*COMMAND, *map(str, words)],
            env={**kept, "PYTHONPATH": str(self.source), "XDG_RUNTIME_DIR": "", **own},
            cwd=self.directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        if not isinstance(errors, int):
            errors.close()
        self._running.append(process)
        return process

    def ok(self, *words: str | Path, **settings: str) -> Done:
        done = self(*words, **settings)
        assert done.exit_code == 0, done.stderr
        return done

    def close(self) -> None:
        for process in self._running:
            if process.poll() is None:
                process.kill()
            process.communicate()


class Service:
    """An emulated service in a process, and its control plane."""

    def __init__(self, url: str) -> None:
        self.url = url

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(f"{self.url}/_emulator/{path}", timeout=30) as reply:
            return orjson.loads(reply.read())

    def post(self, path: str, body: Mapping[str, object]) -> Any:
        request = urllib.request.Request(
            f"{self.url}/_emulator/{path}", orjson.dumps(body), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=30) as reply:
            return orjson.loads(reply.read())

    def accepted(self) -> int:
        return int(self.get("ledger/summary")["accepted"])

    def ledger(self) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = []
        after = 0
        while True:
            page = self.get(f"ledger?after={after}&limit=10000")
            messages += page["messages"]
            if not page["messages"] or page["next"] is None:
                return messages
            after = page["next"]

    def recipients(self) -> list[str]:
        return [message["to"] for message in self.ledger()]


@contextmanager
def serving(drumbeat: Drumbeat, *words: str) -> Iterator[str]:
    """A command that listens, while the block runs; gives its URL."""
    process = drumbeat.start(*words)
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], START_S_MAX)
    line = process.stdout.readline() if ready else ""
    if not line:
        process.kill()
        raise AssertionError(f"{words} did not start: {process.communicate()[1]}")
    try:
        yield orjson.loads(line)["url"]
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.communicate(timeout=15)
        except subprocess.TimeoutExpired:
            process.kill()


def leftovers(scratch: Path) -> list[str]:
    """Files in a directory, and processes that have to do with it."""
    found = [str(path) for path in scratch.iterdir()]
    for process in psutil.process_iter(["cmdline"]):
        words = " ".join(process.info["cmdline"] or ())
        if f"{scratch}/" in words:
            found.append(words)
    return found


def children_of(pid: int) -> list[str]:
    """The command lines of a process's children, without those that end meanwhile."""
    found = []
    with suppress(psutil.Error):
        for child in psutil.Process(pid).children(recursive=True):
            with suppress(psutil.Error):
                found.append(" ".join(child.cmdline()))
    return found


def until(condition: Any, what: str, timeout_s: float = 60.0) -> Any:
    """Look until a state is reached, and return it; the time-out only ends a test that has failed."""
    deadline_s = time.monotonic() + timeout_s
    while not (found := condition()):
        assert time.monotonic() < deadline_s, f"never: {what}"
        time.sleep(0.02)
    return found
