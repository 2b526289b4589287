"""Words to systemd: this process is ready, works, and stops. Without systemd they go nowhere.

Source: sd_notify(3). A unit of Type=notify names a datagram socket in NOTIFY_SOCKET, and the watchdog's time
in WATCHDOG_USEC.
"""

import asyncio
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress

# systemd kills a process that is silent for the whole time: half of it leaves room for one late word.
WATCHDOG_PART = 0.5


def tell(word: str) -> None:
    """Send a word, such as `READY=1`. A manager that is gone is no reason to end."""
    path = os.environ.get("NOTIFY_SOCKET", "")
    if not path.startswith(("/", "@")):
        return
    address = "\0" + path[1:] if path.startswith("@") else path
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel:
        channel.setblocking(False)
        channel.sendto(word.encode(), address)


@contextmanager
def managed() -> Iterator[None]:
    """Tell that the process is ready, and while the block runs that its loop works; then that it stops."""
    loop = asyncio.get_running_loop()
    tell("READY=1")
    period_s = int(os.environ.get("WATCHDOG_USEC") or 0) / 1e6 * WATCHDOG_PART
    beat: asyncio.TimerHandle | None = None

    def work() -> None:
        nonlocal beat
        tell("WATCHDOG=1")
        beat = loop.call_later(period_s, work)

    if period_s:
        work()
    try:
        yield
    finally:
        if beat is not None:
            beat.cancel()
        tell("STOPPING=1")
