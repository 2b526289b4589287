"""The refresh of numbers from the service, when an event said that one of them changed."""

import time
from collections.abc import Awaitable, Callable

from drumbeat.engine.process.event_log import get_logger

log = get_logger(__name__)


class NumberRefresh:
    """A refresh that reads no more often than the budget of management calls allows."""

    def __init__(self, read_numbers: Callable[[], Awaitable[None]], period_s: float) -> None:
        self._read_numbers = read_numbers
        self._period_s = period_s
        self._after_s = 0.0

    @property
    def allowed(self) -> bool:
        return time.monotonic() >= self._after_s

    async def run(self) -> None:
        """Read once. A failure is logged, and sending continues with the known values."""
        self._after_s = time.monotonic() + self._period_s
        try:
            await self._read_numbers()
        except Exception as problem:  # whatever the service lists must not end the process
            log.warning("numbers_not_read", problem=f"{type(problem).__name__}: {problem}"[:200])
            if wait_s := getattr(problem, "wait_s", None):  # set for a TryLater or for the service's refusal
                self._after_s = time.monotonic() + wait_s
