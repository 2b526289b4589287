"""The readings that many people share: each is made at most once in a period, however many look."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Generic, TypeVar, cast

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
Act = TypeVar("Act", bound=Callable[..., Awaitable[Any]])

PERIOD_S = 1.0
KEPT_MAX = 200  # readings of a kind; the one that was not looked at for longest goes


@dataclass(frozen=True, slots=True, eq=False)
class Kind(Generic[Key, Value]):
    """A kind of reading, of which there is one for each key. `rest`: a value is kept for this many times the
    duration of its reading, if that is longer than the period. `of`: the kinds that it is made of. Whoever
    forgets one of them forgets this kind too.
    """

    name: str
    period_s: float = PERIOD_S
    rest: float = 0.0
    of: tuple[Kind[Any, Any], ...] = ()

    def is_made_of(self, kind: Kind[Any, Any]) -> bool:
        return self is kind or any(part.is_made_of(kind) for part in self.of)


@dataclass(slots=True)
class _Reading:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    value: Any = None
    error: Exception | None = None
    read_s: float = float("-inf")
    took_s: float = 0.0


class Cache:
    """The readings of one console. An error is shared for `PERIOD_S` at most, because its cause may be gone
    by then.
    """

    def __init__(self) -> None:
        self._kept: dict[Kind[Any, Any], OrderedDict[Hashable, _Reading]] = {}

    async def get(self, kind: Kind[Key, Value], key: Key, read: Callable[[], Awaitable[Value]]) -> Value:
        """Return the value. It is not older than the period, or than the rest if that is longer."""
        readings = self._kept.setdefault(kind, OrderedDict())
        reading = readings.setdefault(key, _Reading())
        readings.move_to_end(key)
        if len(readings) > KEPT_MAX:
            readings.popitem(last=False)
        async with reading.lock:
            if time.monotonic() - reading.read_s >= _kept_s(kind, reading):
                began_s = time.monotonic()
                reading.value, reading.error = await _attempt(read)
                reading.read_s = time.monotonic()
                reading.took_s = reading.read_s - began_s
            if reading.error is not None:
                raise reading.error.with_traceback(None)
            return cast("Value", reading.value)  # a reading without an error has one

    def forget(self, *changed: Kind[Any, Any]) -> None:
        """Read these kinds anew from now on, and those that are made of them. A caller that waits for a
        reading under way still gets its value; later callers do not.
        """
        for kind in list(self._kept):
            if any(kind.is_made_of(each) for each in changed):
                del self._kept[kind]


def _kept_s(kind: Kind[Any, Any], reading: _Reading) -> float:
    if reading.error is not None:
        return min(kind.period_s, PERIOD_S)
    return max(kind.period_s, kind.rest * reading.took_s)


async def _attempt(read: Callable[[], Awaitable[Value]]) -> tuple[Value | None, Exception | None]:
    try:
        return await read(), None
    except Exception as error:
        return None, error


def changes(*kinds: Kind[Any, Any]) -> Callable[[Act], Act]:
    """Return a decorator of actions of a console that change what these kinds read. The person who acted sees
    it on the next page, also if the action failed half-way.
    """

    def changing(action: Act) -> Act:
        @wraps(action)
        async def act(console: Any, *args: Any, **given: Any) -> Any:
            try:
                return await action(console, *args, **given)
            finally:
                console.cache.forget(*kinds)

        return cast("Act", act)

    return changing
