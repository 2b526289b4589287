"""The question of whether a caller may do alone what may need two people."""

from __future__ import annotations

from drumbeat.campaigns.console.web.access import Caller, Via
from drumbeat.campaigns.console.web.context import Console
from drumbeat.campaigns.life.approval import StartRequest
from drumbeat.campaigns.life.second_person import Asker, Wish, asked_for, is_approved


async def may_act(console: Console, caller: Caller, kind: Wish, subject: str | int, content: str) -> bool:
    """Return whether to act now: two people are not needed here, or another one asked for the same before.
    Otherwise the wish is stored.
    """
    if not console.own.approval:
        return True
    asker = Asker(caller.name, caller.person, caller.via is not Via.TOKEN)
    return await is_approved(console.pool, kind, subject, content, asker)


async def waiting(console: Console, kind: Wish, subject: str | int) -> StartRequest | None:
    """Return the wish that waits for another person, or None."""
    return await asked_for(console.pool, kind, subject) if console.own.approval else None
