"""The demo's home directory and processes. They are gone when the demo ends, whatever ends it."""

import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import orjson

from drumbeat.campaigns.child_processes import end_all
from drumbeat.campaigns.cli.printing import note
from drumbeat.campaigns.cli.signals import STOP_SIGNALS
from drumbeat.engine.errors import DrumbeatError
from drumbeat.engine.process.embedded_postgres import is_usable_path
from drumbeat.engine.process.settings import PREFIX

START_S_MAX = 60.0  # the first start of Postgres on a slow disk
COMMAND_S_MAX = 600.0
# The emulator's defaults, so that no secret is part of a command line.
SETTINGS = {
    "ACCESS_TOKEN": "emulator-token",
    "APP_SECRET": "emulator-secret",
    "VERIFY_TOKEN": "demo-verify-token",
    "WABA_ID": "102290129340398",
    "LOG_LEVEL": "warning",
}


Output = int | IO[bytes] | None


class DemoFailed(DrumbeatError):
    """A step of the demo failed."""


@dataclass(slots=True)
class DemoSandbox:
    """A directory, the environment for commands in it, and the processes that run there."""

    directory: Path
    environment: dict[str, str]
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def home(self) -> Path:
        return self.directory / "home"

    def serve(self, *words: str) -> str:
        """Start a server and return the URL that it prints."""
        log = self.directory / f"{words[0]}.log"
        with log.open("wb") as errors:
            process = self._popen(words, stdout=subprocess.PIPE, stderr=errors)
        line = _first_line(process)
        try:
            return str(orjson.loads(line)["url"])
        except (orjson.JSONDecodeError, KeyError, TypeError):
            raise DemoFailed(f"`drumbeat {words[0]} serve` did not start: {_tail(log)}") from None

    def command(self, *words: str, show: bool = False) -> None:
        """Run a command to its end. `show` leaves its output. Raise DemoFailed unless it exits with 0."""
        note(f"\n$ drumbeat {' '.join(map(_quoted, words))}")
        output = None if show else subprocess.PIPE
        process = self._popen(words, stdout=output, stderr=None if show else subprocess.STDOUT)
        captured, _ = process.communicate(timeout=COMMAND_S_MAX)
        if process.returncode:
            text = (captured or b"").decode("utf-8", "replace").strip()
            raise DemoFailed(f"`drumbeat {words[0]} {words[1]}` ended with {process.returncode}: {text}")

    def end(self) -> None:
        """Stop every process and the database, and remove the directory."""
        for process in reversed(self.processes):
            end_all([process])
            if process.stdout is not None:
                process.stdout.close()
        self._popen(("db", "stop"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).wait(COMMAND_S_MAX)
        shutil.rmtree(self.directory, ignore_errors=True)

    def _popen(
        self, words: tuple[str, ...], *, stdout: int | None, stderr: Output
    ) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(  # noqa: S603 - our own command
            [sys.executable, "-m", "drumbeat.campaigns.cli", *words],
            stdout=stdout,
            stderr=stderr,
            stdin=subprocess.DEVNULL,
            cwd=self.directory,
            env=self.environment,
            process_group=0,  # a Ctrl-C reaches only the demo, which ends the others in order
        )
        self.processes.append(process)
        return process


@contextmanager
def demo_sandbox() -> Iterator[DemoSandbox]:
    """Give a sandbox that is removed at the end, whatever happens. It ignores the user's settings."""
    directory = Path(tempfile.mkdtemp(prefix="drumbeat-demo-", dir=_parent()))
    directory.chmod(0o711)  # for root, the embedded Postgres runs as another user, who must enter it
    environment = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    environment |= {f"{PREFIX}{name}": value for name, value in SETTINGS.items()}
    environment[f"{PREFIX}HOME"] = str(directory / "home")
    environment["TMPDIR"] = str(directory)  # removes what libraries leave in the temporary directory
    sandbox = DemoSandbox(directory, environment)
    try:
        yield sandbox
    finally:
        former = [signal.signal(number, signal.SIG_IGN) for number in STOP_SIGNALS]
        sandbox.end()
        for number, handler in zip(STOP_SIGNALS, former, strict=True):
            signal.signal(number, handler)


def _parent() -> str:
    """Return the user's temporary directory, unless the database cannot be in it."""
    usual = tempfile.gettempdir()
    return usual if is_usable_path(usual) else "/tmp"  # noqa: S108 - mkdtemp makes a directory of our own in it


def _first_line(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], START_S_MAX)
    return process.stdout.readline() if ready else b""


def _tail(log: Path) -> str:
    lines = log.read_text("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else "it printed nothing"


def _quoted(word: str) -> str:
    return f'"{word}"' if " " in word else word
