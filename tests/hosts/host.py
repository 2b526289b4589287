"""A host of the trial: its own addresses, pid namespace, name and clock. It runs one worker."""

import signal
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import psutil

from tests.chaos.processes import Running, start
from tests.hosts.network import Plug, faketime


class Host:
    """`clock`: what its wall clock is off by, such as "+7m". Deaths on it cannot be proven from another host."""

    def __init__(self, name: str, plug: Plug, clock: str, log: Path) -> None:
        self.name = name
        self.clock = clock
        self.plug = plug
        self.log = log
        self._running: Running | None = None

    async def start(self, environment: Mapping[str, str], *options: str) -> None:
        """Start its worker, in a new pid namespace: to the others it is as after a reboot."""
        self.plug.plug_in()
        self._running = await start(
            self.name, "worker", *options, environment={**environment, **self._clock()}, log=self.log,
            prefix=self._prefix(),
        )  # fmt: skip

    def kill(self) -> None:
        """As a power cut: nobody is told, and nothing is answered any more."""
        self.plug.pull()
        self._signal(signal.SIGKILL)

    def freeze(self) -> None:
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    async def stop(self) -> int | None:
        """As an init system does: SIGTERM. The exit code of the worker; None if it does not run."""
        if self._running is None or self._running.ended:
            return None
        self.thaw()
        self._signal(signal.SIGTERM)
        return await self._running.ended_within()

    def _signal(self, number: int) -> None:
        """To all processes of its pid namespace; the one outside, which made it, only waits for them."""
        assert self._running is not None, "it was never started"
        with suppress(psutil.NoSuchProcess):
            for process in psutil.Process(self._running.pid).children(recursive=True):
                with suppress(psutil.NoSuchProcess):
                    process.send_signal(number)

    def _prefix(self) -> tuple[str, ...]:
        return (
            "ip", "netns", "exec", self.plug.namespace,
            "unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--uts",
            "sh", "-c", f'hostname {self.name} && exec "$0" "$@"',
        )  # fmt: skip

    def _clock(self) -> dict[str, str]:
        """Only the wall clock is wrong: a wrong date leaves the time since the boot as it is."""
        return {
            "LD_PRELOAD": str(faketime()),
            "FAKETIME": self.clock,
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "FAKETIME_DISABLE_SHM": "1",
        }
