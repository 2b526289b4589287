"""The business accounts, and the apps through which a business works with them."""

import math
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from drumbeat.emulator.clock import SECOND_NS
from drumbeat.emulator.errors import Refused
from drumbeat.emulator.templates.book import TemplateBook

HOUR_NS = 3600 * SECOND_NS


class CallBudget:
    """The management calls of one app on one account, at most `calls_per_hour` in a sliding hour."""

    def __init__(self, calls_per_hour: int) -> None:
        self.calls_per_hour = calls_per_hour
        self._calls_ns: deque[int] = deque()

    def spend(self, now_ns: int) -> None:
        """Count a call; `Refused` (80007) when the hour is used up."""
        while self._calls_ns and now_ns - self._calls_ns[0] >= HOUR_NS:
            self._calls_ns.popleft()
        if len(self._calls_ns) >= self.calls_per_hour:
            raise Refused(80007, f"{self.calls_per_hour} management calls per hour are used up")
        self._calls_ns.append(now_ns)

    def dump(self) -> list[Any]:
        """Return the state for a snapshot."""
        return [self.calls_per_hour, list(self._calls_ns)]

    @classmethod
    def load(cls, state: list[Any]) -> "CallBudget":
        """Return the budget of a dumped state."""
        budget = cls(state[0])
        budget._calls_ns.extend(state[1])
        return budget

    def wait_minutes(self, now_ns: int) -> int:
        """Return the minutes until another call is free, or 0 when one is."""
        if len(self._calls_ns) < self.calls_per_hour or not self._calls_ns:
            return 0
        return math.ceil((self._calls_ns[0] + HOUR_NS - now_ns) / (60 * SECOND_NS))


@dataclass(slots=True)
class Account:
    """A business account. `locked` is the error code that every send gets (131031 and the like), or 0."""

    id: str
    name: str = "Lantern Home Goods"
    verified: bool = True
    locked: int = 0
    book: TemplateBook = field(default_factory=TemplateBook)
    budgets: dict[str, CallBudget] = field(default_factory=dict)
    subscribed_apps: set[str] = field(default_factory=set)

    def category(self, template: tuple[str, str] | None) -> str:
        """Return the price category of a message, by name and language of its template. None is free-form."""
        if template is None:
            return "service"
        found = self.book.get(*template)
        return found.category.lower() if found is not None else "utility"
