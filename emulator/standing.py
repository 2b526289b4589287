"""The quality and messaging limit of a number, and events of an account: every change is announced."""

from collections.abc import Callable

from drumbeat.emulator.account import Account
from drumbeat.emulator.clock import Clock
from drumbeat.emulator.events.envelope import ACCOUNT_UPDATE, QUALITY_UPDATE, Update
from drumbeat.emulator.identity import HIGH_THROUGHPUT_PER_S, STANDARD_THROUGHPUT_PER_S, Number

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
        number.tiers.set(word, self._clock.now_ns())
        self._announce_quality(number, event)
        earned = event == "UPGRADE" and word in HIGH_VOLUME_TIERS and number.quality_rating == "GREEN"
        if earned and number.window.rate_per_s == STANDARD_THROUGHPUT_PER_S:
            number.window.set_rate(HIGH_THROUGHPUT_PER_S)
            self._announce_quality(number, "THROUGHPUT_UPGRADE")

    def announce_account(self, account: Account, event: str) -> None:
        """Announce an event of an account."""
        self._announce(Update(account.id, None, ACCOUNT_UPDATE, {"event": event}))

    def _announce_quality(self, number: Number, event: str) -> None:
        value = {
            "display_phone_number": number.display_phone_number,
            "event": event,
            "current_limit": number.tiers.word,
        }
        self._announce(Update(number.account_id, None, QUALITY_UPDATE, value))
