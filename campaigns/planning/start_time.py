"""A start that nobody asked for: a start time is moved into the past, or a pause is lifted after it."""

from __future__ import annotations

from datetime import datetime

from drumbeat.engine.errors import UsageError


class StartsAtOnce(UsageError):
    """The campaign would send at once, and nobody said that it may."""

    code = "starts_at_once"

    def __init__(self, name: str, start_at: datetime | None) -> None:
        why = "it would have no start time" if start_at is None else f"its start {start_at} has passed"
        super().__init__(
            f'the campaign "{name}" would send at once: {why}',
            remedy="choose a later start, or say that it may start now, with --now",
        )


def require_now(name: str, start_at: datetime | None, started_at: datetime | None, *, now: bool) -> None:
    """Raise StartsAtOnce, unless `now`, if a campaign is resumed when its start has passed.

    A campaign that was started goes on. A draft that was paused had no time to wait for.
    """
    if start_at is not None and started_at is None and not now:
        raise StartsAtOnce(name, start_at)
