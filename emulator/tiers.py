"""The messaging limit: the number of different people to whom a number may begin to write in a
sliding day.
"""

import re
from collections import OrderedDict
from math import inf
from typing import Any

from drumbeat.emulator.clock import SECOND_NS
from drumbeat.emulator.errors import Refused

DAY_NS = 24 * 3600 * SECOND_NS
# The steps of growth and their limits (the interface's). A number may also have another limit: TIER_2K.
STEPS = {"TIER_250": 250, "TIER_1K": 1_000, "TIER_10K": 10_000, "TIER_100K": 100_000, "TIER_UNLIMITED": None}
LOWEST, UNLIMITED = "TIER_250", "TIER_UNLIMITED"
PATTERN = "^TIER_(UNLIMITED|[1-9][0-9]{0,8}[KM]?)$"
_UNITS = {"K": 1_000, "M": 1_000_000}


def limit_of(word: str) -> int | None:
    """Return the limit that a word names, None for no limit. ValueError for another word."""
    match = re.fullmatch(PATTERN, word)
    if match is None:
        raise ValueError(f"a messaging limit is TIER_<n>, TIER_<n>K, TIER_<n>M or {UNLIMITED}, not {word!r}")
    if word == UNLIMITED:
        return None
    unit = _UNITS.get(word[-1], 1)
    return int(match[1].rstrip("KM")) * unit


def is_limit(word: str) -> bool:
    """Return whether a word names a limit."""
    return re.fullmatch(PATTERN, word) is not None


class Tiers:
    """The limit of a number, and the recipients of a day to whom it wrote outside open windows.

    Growth (open point): a day after the last change, a number of good quality that used at least half of its
    limit within some day since then rises one step. Nothing is kept for an unlimited number.
    """

    __slots__ = ("_changed_ns", "_limit", "_most_people", "_people", "word")

    def __init__(self, word: str = "TIER_UNLIMITED", now_ns: int = 0) -> None:
        self.set(word, now_ns)
        # recipient -> when they were last written to, oldest first
        self._people: OrderedDict[int, int] = OrderedDict()

    def set(self, word: str, now_ns: int) -> None:
        """Set the limit. ValueError for an unknown word."""
        self._limit = limit_of(word)
        self.word = word
        self._changed_ns = now_ns
        self._most_people = 0

    @property
    def limited(self) -> bool:
        """Return whether the number has a limit, so that recipients are counted."""
        return self._limit is not None

    def check(self, recipient: int, now_ns: int) -> None:
        """Raise `Refused` (130429) if this recipient would exceed the limit."""
        self._forget(now_ns)
        if self._limit is not None and recipient not in self._people and len(self._people) >= self._limit:
            raise Refused(130429, f"the messaging limit of {self._limit} recipients in 24 hours is reached")

    def count(self, recipient: int, now_ns: int) -> None:
        """Record an accepted message that the business began."""
        self._people[recipient] = now_ns
        self._people.move_to_end(recipient)
        self._most_people = max(self._most_people, len(self._people))

    def earned(self, now_ns: int, *, verified: bool) -> str | None:
        """Return the next tier, if the number has earned it. Only a verified business leaves the lowest."""
        if self._limit is None or now_ns - self._changed_ns < DAY_NS or not (verified or self._limit > 250):
            return None
        return self._above(self._limit) if 2 * self._most_people >= self._limit else None

    @staticmethod
    def _above(limit: int) -> str:
        return next(word for word, step in STEPS.items() if step is None or step > limit)

    def lower(self) -> str:
        """Return the step below, or the lowest. A limit below the lowest step stays."""
        limit = inf if self._limit is None else self._limit
        below = [word for word, step in STEPS.items() if step is not None and step < limit]
        return below[-1] if below else self.word

    def dump(self) -> dict[str, Any]:
        """Return the state for a snapshot."""
        people = list(self._people.items())
        return {
            "word": self.word,
            "changed_ns": self._changed_ns,
            "most": self._most_people,
            "people": people,
        }

    @classmethod
    def load(cls, state: dict[str, Any]) -> "Tiers":
        """Return the tiers of a dumped state."""
        tiers = cls(state["word"], state["changed_ns"])
        tiers._most_people = state["most"]
        tiers._people.update(dict(state["people"]))
        return tiers

    def _forget(self, now_ns: int) -> None:
        while self._people and now_ns - next(iter(self._people.values())) >= DAY_NS:
            self._people.popitem(last=False)
