"""The reasons why a guard kept a message from one recipient: the words that are stored, and a code for
programs.

The words of some reasons end with a detail, such as the hour until which the recipient waits. The code says
which reason it is. Codes are never renamed.
"""

from enum import StrEnum


class RecipientReason(StrEnum):
    """The codes, in the order in which the guards are asked."""

    SUPPRESSED = "suppressed"
    NO_SENDING_HOURS = "no_sending_hours"
    OPTED_OUT = "opted_out"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    RECIPIENT_HOURS = "recipient_hours"
    FREQUENCY_CAP = "frequency_cap"
    PAIR_RATE = "pair_rate"
    UNFIT_VARIABLES = "unfit_variables"


# The beginnings of the stored words.
WORDS: dict[RecipientReason, str] = {
    RecipientReason.SUPPRESSED: "suppressed",
    RecipientReason.NO_SENDING_HOURS: "no sending hours",
    RecipientReason.OPTED_OUT: "opted out",
    RecipientReason.EXPIRED: "expired",
    RecipientReason.CANCELLED: "cancelled",
    RecipientReason.RECIPIENT_HOURS: "quiet hours",
    RecipientReason.FREQUENCY_CAP: "frequency cap",
    RecipientReason.PAIR_RATE: "pair rate",
    RecipientReason.UNFIT_VARIABLES: "variables do not fit the template",
}


def reason_code(words: str | None) -> RecipientReason | None:
    """Return the code of a stored reason; None if no guard gave it."""
    return next((code for code, begins in WORDS.items() if words and words.startswith(begins)), None)
