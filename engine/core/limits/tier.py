"""The service's words for a messaging limit, and the limit that holds if a word is not understood.

Law: no word that is not understood means "no limit". The last word that was understood holds. If there was
none, an unknown word means the lowest limit of the interface. No number has less, so a number never writes to
too many people, and sending continues. If the service never names a limit, there is none to keep.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

# More people than there are, and within the integers of the database.
PEOPLE_MAX = 1_000_000_000
_UNITS = {"": 1, "K": 1_000, "M": 1_000_000}
_WORD = re.compile(r"TIER_(?:UNLIMITED|([0-9]{1,12})([KM]?))", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class Tier:
    """A messaging limit: to how many people a number may write first in any 24 hours. None: to any number."""

    people: int | None


LOWEST = Tier(250)  # the interface, "Limits"


class TierDoubt(StrEnum):
    """The reasons to take a limit that the service does not name at present."""

    UNKNOWN_WORD = "unknown_word"
    NOT_SAID = "not_said"
    """The service named a limit before, and names none now."""


def parse_tier(word: str | None) -> Tier | None:
    """Read `TIER_<n>`, with K or M for thousands or millions, or `TIER_UNLIMITED`; None for other words."""
    match = _WORD.fullmatch(word or "")
    if match is None:
        return None
    if match[1] is None:
        return Tier(None)
    people = int(match[1]) * _UNITS[match[2].upper()]
    return Tier(min(people, PEOPLE_MAX)) if people else None


def known_word(word: str | None) -> str | None:
    """Return the word if it is understood, else None."""
    return None if parse_tier(word) is None else word


@dataclass(frozen=True, slots=True)
class SaidTier:
    """The messaging limit of a number as it is stored.

    `word` is the service's present word; None if it sends none. `known` is the last word that was understood.
    """

    word: str | None
    known: str | None = None

    @property
    def understood(self) -> Tier | None:
        """Return the limit that the service names, or last named; None if none was ever understood."""
        return parse_tier(self.word) or parse_tier(self.known)

    @property
    def holds(self) -> Tier | None:
        """Return the limit of a number by itself; None if the service never named one."""
        return self.understood or (LOWEST if self.word else None)

    @property
    def doubt(self) -> TierDoubt | None:
        """Return why a person should look at the limit before a start; None if there is no reason."""
        if self.word:
            return TierDoubt.UNKNOWN_WORD if parse_tier(self.word) is None else None
        return None if self.understood is None else TierDoubt.NOT_SAID
