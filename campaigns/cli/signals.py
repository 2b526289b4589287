"""Signals for commands that drain: the first one asks to stop, a second Ctrl-C or SIGTERM stops at once.

SIGHUP, from a closing terminal, also asks to stop, but a second one changes nothing: the system and the shell
both send it, and service managers send it right after SIGTERM. If SIGHUP is ignored, as under nohup, it stays
ignored.
"""

import asyncio
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from drumbeat.engine.process.service_manager import managed

HASTY_SIGNALS = (signal.SIGINT, signal.SIGTERM)
STOP_SIGNALS = (*HASTY_SIGNALS, signal.SIGHUP)


@dataclass(slots=True)
class Stop:
    """The wish to stop, which the first signal sets. `exit_code` is the shell's code for it, or for the
    signal after a SIGHUP.
    """

    event: asyncio.Event = field(default_factory=asyncio.Event)
    signal_number: int | None = None

    @property
    def asked(self) -> bool:
        return self.signal_number is not None

    @property
    def exit_code(self) -> int:
        return 0 if self.signal_number is None else 128 + self.signal_number


@contextmanager
def stop_on_signals() -> Iterator[Stop]:
    """Let the first signal in this block only set the event. The main thread's loop must run.

    A service manager is told that the process is ready, works and stops.
    """
    loop = asyncio.get_running_loop()
    stop = Stop()
    former = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    if former[signal.SIGHUP] is signal.SIG_IGN:
        del former[signal.SIGHUP]

    def ask(number: int) -> None:
        if stop.signal_number in (None, signal.SIGHUP):  # if two arrive at once, SIGHUP comes first
            stop.signal_number = number
        stop.event.set()
        if number in HASTY_SIGNALS:
            _restore(loop, HASTY_SIGNALS)
            loop.add_signal_handler(signal.SIGINT, _interrupt, loop)

    for number in former:
        loop.add_signal_handler(number, ask, number)
    try:
        with managed():
            yield stop
    finally:
        _restore(loop, former)
        for number, handler in former.items():
            signal.signal(number, handler)


def _interrupt(loop: asyncio.AbstractEventLoop) -> None:
    """Raise between two steps of the loop: inside a task it would be logged as an error of that task."""
    loop.remove_signal_handler(signal.SIGINT)  # a third signal interrupts at once
    raise KeyboardInterrupt


def _restore(loop: asyncio.AbstractEventLoop, numbers: Iterable[int]) -> None:
    for number in numbers:
        loop.remove_signal_handler(number)
