"""The processes of a run: started as a user starts them, killed and frozen as a machine does it."""

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import orjson

ROOT = Path(__file__).resolve().parents[2]
END_S = 15.0
START_S = 60.0
UNREACHED = 69  # the exit code if service or database is not reached
COMMAND = ("-m", "drumbeat.campaigns.cli")


class NeverListened(Exception):
    """A server ended before it listened."""


class Running:
    """One process. `expected` is set before it is ended on purpose; any other end is a finding."""

    def __init__(self, name: str, process: asyncio.subprocess.Process, log: Path) -> None:
        self.name = name
        self.log = log
        self.expected = False
        self._process = process
        self._log_from = log.stat().st_size

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def ended(self) -> bool:
        return self._process.returncode is not None

    @property
    def last_words(self) -> str:
        """The end of what it logged, for a report."""
        return self.log.read_text("utf-8", "replace")[-1500:]

    @property
    def met_no_database(self) -> bool:
        """It ended with 69 before it had done anything: the documented end if no database answers."""
        own = self.log.read_bytes()[self._log_from :]
        return self._process.returncode == UNREACHED and b'"event"' not in own

    def kill(self) -> None:
        self.expected = True
        self.signal(signal.SIGKILL)

    def signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            self._process.send_signal(number)

    async def terminate(self) -> int:
        """SIGTERM, then SIGKILL if it does not end; the exit code, negative for a signal."""
        self.expected = True
        if not self.ended:
            self.signal(signal.SIGCONT)
            self.signal(signal.SIGTERM)
        return await self.ended_within()

    async def ended_within(self, timeout_s: float = END_S) -> int:
        """Wait for the end, and end it with SIGKILL if that takes too long; the exit code."""
        try:
            return await asyncio.wait_for(self._process.wait(), timeout_s)
        except TimeoutError:
            self.signal(signal.SIGKILL)
            return await self._process.wait()

    async def wait(self) -> int:
        return await self._process.wait()

    async def announcement(self) -> dict[str, object]:
        """The JSON line that a server writes once it listens; NeverListened if it ends before."""
        assert self._process.stdout is not None
        line = await asyncio.wait_for(self._process.stdout.readline(), START_S)
        if not line:
            raise NeverListened(f"{self.name} did not start: {self.last_words}")
        found: dict[str, object] = orjson.loads(line)
        return found


async def start(
    name: str,
    *arguments: str,
    environment: Mapping[str, str],
    log: Path,
    command: tuple[str, ...] = COMMAND,
    prefix: tuple[str, ...] = (),
    announces: bool = False,
) -> Running:
    """Start `*prefix python *command *arguments` in a group of its own; what it logs is added to `log`."""
    with log.open("ab") as errors:
        process = await asyncio.create_subprocess_exec(
            *prefix,
            sys.executable,
            *command,
            *arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE if announces else errors,
            stderr=errors,
            env={**_inherited(), **environment, "PYTHONPATH": str(ROOT)},
            start_new_session=True,
        )
    return Running(name, process, log)


def _inherited() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("DRUMBEAT_")}
