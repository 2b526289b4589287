"""The phone numbers, and the tokens that may use them."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from drumbeat.emulator.pace import SlidingWindow
from drumbeat.emulator.pair import PairRate
from drumbeat.emulator.tiers import Tiers

# By this word a program knows that an address is an emulator, and that no message reaches a person.
IDENTITY = "drumbeat-emulator"

MESSAGING = "business_messaging"
MANAGEMENT = "business_management"
# A number of at least this rate shows that it was upgraded. A client may rely on the standard rate otherwise.
HIGH_THROUGHPUT_PER_S = 1000.0
STANDARD_THROUGHPUT_PER_S = 80.0
QUALITY_RATINGS = ("GREEN", "YELLOW", "RED", "UNKNOWN")


@dataclass(frozen=True, slots=True)
class Token:
    """A token. `expires_at_s` is Unix time, or None for never. `accounts` None means every account."""

    value: str
    permissions: frozenset[str] = frozenset({MESSAGING, MANAGEMENT})
    accounts: frozenset[str] | None = None
    expires_at_s: int | None = None
    app_id: str = ""


@dataclass(slots=True)
class Number:
    """A registered number of an account, with all limits and counts of that number.

    `windows` maps a customer to the time of the last message from them, in ns. Only test numbers have
    `test_recipients`.
    """

    id: str
    account_id: str
    display_phone_number: str
    window: SlidingWindow
    verified_name: str = "Lantern Home Goods"
    quality_rating: str = "GREEN"
    status: str = "CONNECTED"
    test_recipients: frozenset[int] | None = None
    pair: PairRate = field(default_factory=PairRate)
    windows: dict[int, int] = field(default_factory=dict)
    tiers: Tiers = field(default_factory=Tiers)
    # The word for the messaging limit that lists and events show in place of the limit's own.
    tier_word: str | None = None
    pin: str | None = None
    profile: dict[str, Any] = field(default_factory=dict)
    accepted: int = 0
    errors: Counter[int] = field(default_factory=Counter)

    @property
    def tier_shown(self) -> str:
        """Return the word for the messaging limit as lists and events show it."""
        return self.tier_word or self.tiers.word

    @property
    def throughput_level(self) -> str:
        """Return HIGH after the upgrade to 1,000 a second, else STANDARD."""
        return "HIGH" if self.window.rate_per_s >= HIGH_THROUGHPUT_PER_S else "STANDARD"
