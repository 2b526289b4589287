"""Warnings before a start: messaging limits that the service does not say in a word that is understood."""

from __future__ import annotations

from collections.abc import Collection

from drumbeat.campaigns.account.numbers import list_numbers
from drumbeat.engine.core.limits.tier import TierDoubt
from drumbeat.engine.store.database import Pool


def tier_warning(phone_number_id: str, word: str | None, doubt: TierDoubt, people: int | None) -> str:
    """Return a warning that states the service's word and the limit that counts. `people` is that limit; None
    means that no limit counts.
    """
    most = "any number of people" if people is None else f"{people:,} people"
    limit = f"the messaging limit of {phone_number_id}"
    says = {
        TierDoubt.UNKNOWN_WORD: f"the service calls {limit} {word!r}, which is not known",
        TierDoubt.NOT_SAID: f"the service no longer says {limit}",
    }
    return f"{says[doubt]}: {most} in 24 hours count until it says one that is known"


async def tier_warnings(pool: Pool, phone_number_ids: Collection[str] | None = None) -> list[str]:
    """Return the warnings about these numbers, or about all that the account lists."""
    return [
        tier_warning(
            number.phone_number_id, number.messaging_limit_tier, number.tier_doubt, number.quota_limit
        )
        for number in await list_numbers(pool)
        if number.tier_doubt is not None
        and (
            number.unlisted_at is None
            if phone_number_ids is None
            else number.phone_number_id in phone_number_ids
        )
    ]
