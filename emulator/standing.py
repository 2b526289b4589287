"""The quality and messaging limit of a number, and events of an account: every change is announced."""

from collections.abc import Callable, Mapping
from typing import Any

from drumbeat.emulator.account import Account
from drumbeat.emulator.clock import Clock
from drumbeat.emulator.events.envelope import ACCOUNT_REVIEW, ACCOUNT_UPDATE, QUALITY_UPDATE, Update
from drumbeat.emulator.identity import HIGH_THROUGHPUT_PER_S, STANDARD_THROUGHPUT_PER_S, Number
from drumbeat.emulator.tiers import is_limit

# The messaging limits from which the throughput of a number is raised (the criterion is an open point).
HIGH_VOLUME_TIERS = ("TIER_100K", "TIER_UNLIMITED")


class Standing:
    """The opinion of the service about a number or an account. `announce` queues an event for every
    change.
    """

    def __init__(self, clock: Clock, announce: Callable[[Update], None]) -> None:
        self._clock = clock
        self._announce = announce

    def set_quality(self, number: Number, rating: str) -> None:
        """Set a quality rating. RED costs a step of the messaging limit (open point)."""
        number.quality_rating = rating
        if rating == "RED":
            self.set_tier(number, number.tiers.lower(), "FLAGGED")
        else:
            self._announce_quality(number, "UNFLAGGED" if rating == "GREEN" else "FLAGGED")

    def set_tier(self, number: Number, word: str, event: str) -> None:
        """Set a messaging limit. A large one, earned by good quality, also raises the rate to 1,000/s."""
        old = number.tier_shown
        number.tiers.set(word, self._clock.now_ns())
        number.tier_word = None
        self._announce_quality(number, event, old)
        earned = event == "UPGRADE" and word in HIGH_VOLUME_TIERS and number.quality_rating == "GREEN"
        if earned and number.window.rate_per_s == STANDARD_THROUGHPUT_PER_S:
            number.window.set_rate(HIGH_THROUGHPUT_PER_S)
            self._announce_quality(number, "THROUGHPUT_UPGRADE")

    def set_word(self, number: Number, word: str | None, event: str) -> None:
        """Set a messaging limit by any word. One that names no limit is shown and announced, and the limit
        stays as it is. None shows the limit's own word again.
        """
        if word is not None and is_limit(word):
            return self.set_tier(number, word, event)
        old, number.tier_word = number.tier_shown, word
        return self._announce_quality(number, event, old)

    def announce_account(self, account: Account, event: str, details: Mapping[str, Any]) -> None:
        """Announce an event of an account, with further members."""
        self._announce(Update(account.id, None, ACCOUNT_UPDATE, {**details, "event": event}))

    def announce_review(self, account: Account, decision: str) -> None:
        """Announce the decision of the review of an account."""
        self._announce(Update(account.id, None, ACCOUNT_REVIEW, {"decision": decision}))

    def _announce_quality(self, number: Number, event: str, old: str | None = None) -> None:
        value = {
            "display_phone_number": number.display_phone_number,
            "event": event,
            "current_limit": number.tier_shown,
        }
        if old is not None and old != number.tier_shown:
            value["old_limit"] = old
        self._announce(Update(number.account_id, None, QUALITY_UPDATE, value))
