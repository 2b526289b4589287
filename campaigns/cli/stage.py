"""Where the demo plays: a home of its own, the processes it starts, and their certain end."""

from __future__ import annotations

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

from campaigns.child_processes import end_all
from campaigns.cli.edge import note
from campaigns.cli.signals import STOP_SIGNALS
from engine.errors import DrumbeatError
from engine.process.embedded_postgres import is_usable_path
from engine.process.settings import PREFIX

START_S_MAX = 60.0  # the first start of Postgres on a slow disk
COMMAND_S_MAX = 600.0
# The emulator's own defaults, so that no secret has to stand in a command line.
SETTINGS = {
    "ACCESS_TOKEN": "emulator-token",
    "APP_SECRET": "emulator-secret",
    "VERIFY_TOKEN": "demo-verify-token",
    "WABA_ID": "102290129340398",
    "LOG_LEVEL": "warning",
}


Output = int | IO[bytes] | None


class DemoFailed(DrumbeatError):
    """A step of the demo did not do what it should."""


@dataclass(slots=True)
class Stage:
    """A directory, the environment of its commands, and the servers that run in it."""

    directory: Path
    environment: dict[str, str]
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def home(self) -> Path:
        return self.directory / "home"

    def serve(self, *words: str) -> str:
        """Start a command that listens, and wait until it says at which URL."""
        log = self.directory / f"{words[0]}.log"
        with log.open("wb") as errors:
            process = self._popen(words, stdout=subprocess.PIPE, stderr=errors)
        line = _first_line(process)
        try:
            return str(orjson.loads(line)["url"])
        except (orjson.JSONDecodeError, KeyError, TypeError):
            raise DemoFailed(f"`drumbeat {words[0]} serve` did not start: {_tail(log)}") from None

    def command(self, *words: str, show: bool = False) -> None:
        """Run a command to its end; `show` lets its output through. DemoFailed unless it exits 0."""
        note(f"\n$ drumbeat {' '.join(map(_quoted, words))}")
        output = None if show else subprocess.PIPE
        process = self._popen(words, stdout=output, stderr=None if show else subprocess.STDOUT)
        told, _ = process.communicate(timeout=COMMAND_S_MAX)
        if process.returncode:
            text = (told or b"").decode("utf-8", "replace").strip()
            raise DemoFailed(f"`drumbeat {words[0]} {words[1]}` ended with {process.returncode}: {text}")

    def end(self) -> None:
        """Stop every process, the database too, and remove the directory."""
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
            [sys.executable, "-m", "campaigns.cli", *words],
            stdout=stdout,
            stderr=stderr,
            stdin=subprocess.DEVNULL,
            cwd=self.directory,
            env=self.environment,
            process_group=0,  # a Ctrl-C reaches the demo alone, which ends the others in order
        )
        self.processes.append(process)
        return process


@contextmanager
def demo_stage() -> Iterator[Stage]:
    """A stage that is gone afterwards, whatever ends it. No setting of the user reaches it."""
    directory = Path(tempfile.mkdtemp(prefix="drumbeat-demo-", dir=_parent()))
    directory.chmod(0o711)  # the embedded Postgres of root runs as another user, who has to pass
    environment = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    environment |= {f"{PREFIX}{name}": value for name, value in SETTINGS.items()}
    environment[f"{PREFIX}HOME"] = str(directory / "home")
    environment["TMPDIR"] = str(directory)  # what libraries leave in the temporary directory goes too
    stage = Stage(directory, environment)
    try:
        yield stage
    finally:
        former = [signal.signal(number, signal.SIG_IGN) for number in STOP_SIGNALS]
        stage.end()
        for number, handler in zip(STOP_SIGNALS, former, strict=True):
            signal.signal(number, handler)


def _parent() -> str:
    """The user's temporary directory, unless the database cannot lie in it."""
    usual = tempfile.gettempdir()
    return usual if is_usable_path(usual) else "/tmp"  # noqa: S108 - mkdtemp makes a directory of our own in it


def _first_line(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], START_S_MAX)
    return process.stdout.readline() if ready else b""


def _tail(log: Path) -> str:
    lines = log.read_text("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else "it said nothing"


def _quoted(word: str) -> str:
    return f'"{word}"' if " " in word else word
