"""SIGINT and SIGTERM for commands that drain: the first asks to stop, the second stops at once."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass(slots=True)
class Stop:
    """Set by the first signal; `exit_code` is then the shell's code for it."""

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

    def ask(number: int) -> None:
        stop.signal_number = number
        stop.event.set()
        _restore(loop)

    former = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, ask, number)
    try:
        yield stop
    finally:
        _restore(loop)
        for number, handler in former.items():
            signal.signal(number, handler)


def _restore(loop: asyncio.AbstractEventLoop) -> None:
    for number in STOP_SIGNALS:
        loop.remove_signal_handler(number)
