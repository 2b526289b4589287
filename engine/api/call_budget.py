"""The budget of management calls: 200 an hour for one app and account (the interface, "Limits").

Half of them may be made at once, and the other half is spread over the hour, so no hour exceeds the limit.
"""

from typing import Protocol

from aiolimiter import AsyncLimiter

CALLS_PER_HOUR = 200
BURST = CALLS_PER_HOUR // 2
CALL_EVERY_S = 3600 / BURST  # one call becomes free again in this time


class CallBudget(Protocol):
    """A budget of management calls. Processes share `engine.store.call_budget.SharedCallBudget`."""

    async def spend(self) -> float:
        """Spend one call and return 0, or spend nothing and return the seconds until a call is free."""
        ...


class LocalCallBudget:
    """A budget of this process. The clients of one account should share it."""

    def __init__(self, burst: int = BURST) -> None:
        self._limiter = AsyncLimiter(burst, 3600)
        self._call_every_s = 3600 / burst

    async def spend(self) -> float:
        """Spend as `CallBudget` says. It returns the longest possible wait; a call may be free earlier."""
        if not self._limiter.has_capacity():
            return self._call_every_s
        await self._limiter.acquire()
        return 0.0
