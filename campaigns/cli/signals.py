"""Signals for commands that drain: the first asks to stop, a second Ctrl-C or SIGTERM stops at once.

SIGHUP asks too, as a terminal closes, but hurries nobody: it comes twice then, from the system and from the
shell, and service managers send it right behind SIGTERM. Where it is ignored, as under nohup, it stays so.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

HASTY_SIGNALS = (signal.SIGINT, signal.SIGTERM)
STOP_SIGNALS = (*HASTY_SIGNALS, signal.SIGHUP)


@dataclass(slots=True)
class Stop:
    """Set by the first signal; `exit_code` is the shell's code for it, or for one that came after SIGHUP."""

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
    """Within the block the first signal only sets the event. Needs the running loop of the main thread."""
    loop = asyncio.get_running_loop()
    stop = Stop()
    former = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    if former[signal.SIGHUP] is signal.SIG_IGN:
        del former[signal.SIGHUP]

    def ask(number: int) -> None:
        if stop.signal_number in (None, signal.SIGHUP):  # of two at once the system tells SIGHUP first
            stop.signal_number = number
        stop.event.set()
        if number in HASTY_SIGNALS:
            _restore(loop, HASTY_SIGNALS)
            loop.add_signal_handler(signal.SIGINT, _interrupt, loop)

    for number in former:
        loop.add_signal_handler(number, ask, number)
    try:
        yield stop
    finally:
        _restore(loop, former)
        for number, handler in former.items():
            signal.signal(number, handler)


def _interrupt(loop: asyncio.AbstractEventLoop) -> None:
    """Between two steps of the loop: raised inside a task it is that task's bug, told with a traceback."""
    loop.remove_signal_handler(signal.SIGINT)  # a third one does not wait for the step
    raise KeyboardInterrupt


def _restore(loop: asyncio.AbstractEventLoop, numbers: Iterable[int]) -> None:
    for number in numbers:
        loop.remove_signal_handler(number)
