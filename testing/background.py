"""An event loop in a thread of its own, beside the loop of a test.

So the fixtures are plain ones, and it does not matter which plugin runs an application's asynchronous tests.
"""

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Any, TypeVar

Result = TypeVar("Result")

START_S_MAX = 60.0  # longer than anything here takes; it only ends a test that hangs


class Background:
    """A running loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine there, and return its result."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(START_S_MAX)

    @contextmanager
    def open(self, manager: AbstractAsyncContextManager[Result]) -> Iterator[Result]:
        """Enter an asynchronous context there, and leave it at the end."""
        entered, leave = threading.Event(), asyncio.Event()
        found: list[Result] = []

        async def hold() -> None:
            async with manager as value:
                found.append(value)
                entered.set()
                await leave.wait()

        held = asyncio.run_coroutine_threadsafe(hold(), self._loop)
        held.add_done_callback(lambda _: entered.set())
        entered.wait(START_S_MAX)
        if not found:
            held.result(START_S_MAX)  # raises why
        try:
            yield found[0]
        finally:
            self._loop.call_soon_threadsafe(leave.set)
            held.result(START_S_MAX)


@contextmanager
def background() -> Iterator[Background]:
    """Give a loop that runs until the block ends."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="drumbeat-testing", daemon=True)
    thread.start()
    try:
        yield Background(loop)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(START_S_MAX)
        loop.close()
