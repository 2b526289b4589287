"""The actions on people: to suppress them, to take them off the list, and to erase them."""

from __future__ import annotations

from drumbeat.campaigns.campaign import find_campaign
from drumbeat.campaigns.console.campaigns.watch import CHANGED
from drumbeat.campaigns.console.people.shapes import (
    PhoneQuery,
    SuppressionChange,
    SuppressMatching,
    SuppressRequest,
)
from drumbeat.campaigns.console.web.access import Caller
from drumbeat.campaigns.console.web.cache import changes
from drumbeat.campaigns.console.web.context import Console
from drumbeat.campaigns.life.forget import ForgetReceipt, forget_person
from drumbeat.campaigns.phones.suppression import SuppressionCounts, add_suppressions, remove_suppressions
from drumbeat.campaigns.progress import ProgressCallback, no_progress
from drumbeat.campaigns.results import matching
from drumbeat.campaigns.results.person import read_spellings
from drumbeat.campaigns.stored_recipients import EVERYBODY
from drumbeat.engine.errors import UsageError


async def suppress(console: Console, caller: Caller, asked: SuppressRequest) -> SuppressionChange:
    async with console.pool.acquire() as connection:
        return change_of(
            await add_suppressions(connection, asked.phones, asked.reason, asked.region, actor=caller.name)
        )


async def unsuppress(console: Console, caller: Caller, name: str) -> SuppressionChange:
    """Take a phone off the list. `name`: its digits, with or without a plus."""
    async with console.pool.acquire() as connection:
        return change_of(await remove_suppressions(connection, [f"+{name.lstrip('+')}"], actor=caller.name))


@changes(*CHANGED)
async def suppress_matching(
    console: Console,
    caller: Caller,
    name: str,
    asked: SuppressMatching,
    progress: ProgressCallback = no_progress,
) -> SuppressionChange:
    """Suppress every recipient of a campaign who matches, whatever their number. To finish an interrupted
    request, repeat it. UsageError if the filter admits everybody because it is empty.
    """
    campaign = await find_campaign(console.pool, name)
    if asked.wanted == EVERYBODY:
        raise UsageError("it is not said whom to suppress", remedy="name a state, or every state")
    return change_of(
        await matching.suppress_matching(
            console.pool, campaign.campaign_id, asked.wanted, asked.reason, progress, actor=caller.name
        )
    )


def change_of(counts: SuppressionCounts) -> SuppressionChange:
    return {"changed": counts.changed, "unchanged": counts.unchanged}


async def erase(console: Console, caller: Caller, name: str, asked: PhoneQuery) -> ForgetReceipt:
    """Erase a person for good. `name`: the phone."""
    spellings = read_spellings(phone_in(name, asked.region), asked.region)
    async with console.pool.acquire() as connection:
        return await forget_person(connection, spellings, actor=caller.name)


def phone_in(address: str, region: str | None = None) -> str:
    """Return the phone in an address. Without a region, its digits are those of E.164, which have a plus."""
    return f"+{address}" if region is None and address.isdecimal() else address
