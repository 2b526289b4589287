"""The state of a number: what it does, or why it does nothing. Commands and pages share this rule."""

from __future__ import annotations

from enum import StrEnum

from drumbeat.campaigns.account.numbers import BusinessNumber


class NumberState(StrEnum):
    """The first that fits counts."""

    STOPPED = "stopped"
    """Until a person lets it send again."""
    RESTS = "rests"
    """It sends again by itself at a time."""
    UNLISTED = "unlisted"
    """The account no longer lists it."""
    QUOTA = "quota"
    """Its messaging limit is used up."""
    NOBODY = "nobody"
    """No worker sends with it."""
    AWAY = "away"
    """The service does not answer: one message at a time probes it."""
    SLOWED = "slowed"
    """The service throttles it, so its worker sends below its limit."""
    SENDING = "sending"
    IDLE = "idle"
    """Its worker has nothing to send with it."""


def number_state(number: BusinessNumber) -> NumberState:
    if number.stopped:
        return NumberState.STOPPED
    if number.suspended_until is not None:
        return NumberState.RESTS
    if number.unlisted_at is not None:
        return NumberState.UNLISTED
    if number.quota_more_at is not None:
        return NumberState.QUOTA
    if number.owner is None:
        return NumberState.NOBODY
    if number.service_away:
        return NumberState.AWAY
    if number.slowed_since is not None:
        return NumberState.SLOWED
    return NumberState.SENDING if number.achieved_per_s else NumberState.IDLE
