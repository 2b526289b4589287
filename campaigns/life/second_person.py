"""The actions that need two people, beside starts: one asks, another one does the same.

Law: an approval holds for what was asked for. Whoever wants something else asks anew, and each approval is
used once. What sends less, or to fewer people, needs nobody else: it may have to be quick.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from drumbeat.campaigns.actor import note_audit
from drumbeat.campaigns.life.approval import StartRequest, Verdict, decide
from drumbeat.campaigns.sql import statements
from drumbeat.engine.store.database import Connection, Pool

WAITS = "it waits for approval: another person must ask for the same"


class Wish(StrEnum):
    """The thing that is asked for. Its subject is a campaign's id, or for a limit a number."""

    RESEND = "resend"
    EDIT = "edit"
    LIMIT = "limit"


@dataclass(frozen=True, slots=True)
class Asker:
    """Whoever asks. `person` is the one behind `name`, if that is a program."""

    name: str
    person: str
    is_person: bool


async def is_approved(pool: Pool, kind: Wish, subject: str | int, content: str, asker: Asker) -> bool:
    """Return whether another person asked for the same before. If so, that request is used up; otherwise
    this one is stored. A request of a program is one of the person who made its token.
    """
    sql, campaign_id = statements("console_people"), subject if isinstance(subject, int) else None
    detail = {"asked": content} if campaign_id is not None else {"number": subject, "asked": content}
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute(sql["lock_approval"], kind.value, str(subject))
        found = await asked_for(connection, kind, subject)
        verdict = decide(found, content, asker.name, is_person=asker.is_person)
        if verdict is Verdict.ASK:
            given = (kind.value, str(subject), content, asker.name, asker.person)
            await connection.execute(sql["ask_approval"], *given)
            await note_audit(connection, asker.name, f"ask-{kind}", campaign_id, **detail)
        elif verdict is Verdict.APPROVE:
            await connection.execute(sql["use_approval"], kind.value, str(subject))
            await note_audit(connection, asker.name, f"approve-{kind}", campaign_id, **detail)
    return verdict is Verdict.APPROVE


async def asked_for(database: Pool | Connection, kind: Wish, subject: str | int) -> StartRequest | None:
    """Return the request that waits for another person, or None."""
    row = await database.fetchrow(statements("console_people")["approval"], kind.value, str(subject))
    return None if row is None else StartRequest(**row, approved_by=None)


def raises_limit(present_per_s: float, asked_per_s: float | None) -> bool:
    """Return whether a number may send faster with the limit that is asked for. None stands for the service's
    own limit, which the service may raise at any time.
    """
    return asked_per_s is None or asked_per_s > present_per_s
