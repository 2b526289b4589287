"""The price of a message, as its statuses say: a category, and whether it is billable.

It is stored as one small number, because every status carries it: 2 × category + billable.
"""

from typing import Any, NamedTuple

# Positions are stored: new words go to the end. A word that is not listed counts as the first.
CATEGORIES = (
    "other",
    "marketing",
    "utility",
    "authentication",
    "service",
    "authentication_international",
    "marketing_lite",
    "referral_conversion",
)
_CODES = {
    (category, billable): 2 * position + billable
    for position, category in enumerate(CATEGORIES)
    for billable in (False, True)
}


class Pricing(NamedTuple):
    category: str
    billable: bool


def pricing_code(pricing: Any) -> int | None:
    """Return the number for a status's `pricing`; None if it says nothing that can be read.

    The service withdraws `billable`. Its `type` says the same: what is not free is charged for.
    """
    if type(pricing) is not dict:
        return None
    category, billable = pricing.get("category"), pricing.get("billable")
    if type(billable) is not bool:
        kind = pricing.get("type")
        if type(kind) is not str or not kind:
            return None
        billable = not kind.lower().startswith("free")
    if type(category) is not str:
        return None
    code = _CODES.get((category, billable))
    return int(billable) if code is None else code


def pricing_of(code: int) -> Pricing:
    """Return the price that the number stands for."""
    position, billable = divmod(code, 2)
    category = CATEGORIES[position] if position < len(CATEGORIES) else CATEGORIES[0]
    return Pricing(category, bool(billable))
