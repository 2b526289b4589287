"""The rule that says whether an event may change anything of ours.

An app has one callback for all its business accounts, so events of several accounts arrive at one receiver.

| account of the entry      | number of the event                | origin         |
|---------------------------|------------------------------------|----------------|
| another than ours         | any                                | OTHER_ACCOUNT  |
| ours, absent, or we know no account of ours | not among our numbers | UNKNOWN_NUMBER |
| the same                  | ours, absent, or none is known yet | OURS           |

The interface names no account in an event, so an absent one counts as ours. Law: a status of a message that
we know by its id or tag is a fact about that message, whatever its origin.
"""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum


class Origin(StrEnum):
    """The three kinds of origin. Only OURS changes anything; UNKNOWN_NUMBER may once the number is known."""

    OURS = "ours"
    OTHER_ACCOUNT = "other_account"
    UNKNOWN_NUMBER = "unknown_number"


@dataclass(frozen=True, slots=True)
class Ours:
    """The ids of our accounts, from the settings, and of our numbers, as last read from the service.

    Empty means that none is known.
    """

    accounts: Collection[str] = frozenset()
    numbers: Collection[str] = frozenset()


def origin_of(account: str | None, number: str | None, ours: Ours) -> Origin:
    """Return the origin of an event from its account and its number, as the table above says."""
    if account and ours.accounts and account not in ours.accounts:
        return Origin.OTHER_ACCOUNT
    if number and ours.numbers and number not in ours.numbers:
        return Origin.UNKNOWN_NUMBER
    return Origin.OURS
