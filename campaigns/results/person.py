"""The history of one person, over all campaigns.

The service's clock gives whole seconds: a message may be `sent` in the second in which our clock, which is
finer, shows the attempt a little later. Events of one attempt are shown in the order in which they happen.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import asyncpg

from drumbeat.campaigns.phones.normaliser import read_phone
from drumbeat.campaigns.results.export import failure_texts
from drumbeat.campaigns.results.reply_text import reply_text
from drumbeat.campaigns.sql import statements
from drumbeat.campaigns.template_shares import shares_in
from drumbeat.engine.core.phone_aliases import phone_aliases
from drumbeat.engine.core.pricing import pricing_of
from drumbeat.engine.core.states import EvidenceRank
from drumbeat.engine.store.database import Connection

LOOK_TIMEOUT_S = 300.0  # a look takes 6 to 9 ms for a million recipients in memory, more from a disk
_OUTCOMES = {1: "accepted", 2: "refused", 3: "skipped"}


@dataclass(frozen=True, slots=True)
class PersonAttempt:
    """One attempt: the answer of the service, and its statuses.

    `outcome` is accepted, refused or skipped; or, if it is not settled, deferred, claimed or unknown.
    `status` is that of an accepted one. `reason` is the meaning of the code, and `detail` the service's
    words.
    """

    attempt_no: int
    phone_number_id: str
    outcome: str
    status: str | None
    wamid: str | None
    code: int | None
    reason: str | None
    detail: str | None
    price: str | None
    attempted_at: datetime | None
    sent_at: datetime | None
    delivered_at: datetime | None
    read_at: datetime | None
    failed_at: datetime | None


@dataclass(frozen=True, slots=True)
class PersonCampaign:
    """The person as a recipient of a campaign. `line` is that of the audience file."""

    campaign: str
    campaign_state: str
    planned_at: datetime
    line: int
    template: str
    language: str
    variant: str
    state: str
    reason: str | None
    due_at: datetime | None
    attempts: tuple[PersonAttempt, ...]


@dataclass(frozen=True, slots=True)
class PersonMessage:
    """A message that the person wrote. `quotes` is the wamid that it answers."""

    wamid: str
    phone_number_id: str | None
    type: str
    sent_at: datetime
    text: str
    quotes: str | None


@dataclass(frozen=True, slots=True)
class Person:
    """A person over all campaigns. `spellings` are the valid numbers of the phone, the given one first."""

    spellings: tuple[int, ...]
    suppressed_because: str | None
    suppressed_at: datetime | None
    campaigns: tuple[PersonCampaign, ...]
    messages: tuple[PersonMessage, ...]

    def as_json(self) -> dict[str, Any]:
        return {"schema": 1, "phone": str(self.spellings[0]), **asdict(self)}


@dataclass(frozen=True, slots=True)
class PersonEvent:
    """One line of what happened. `campaign` is empty for a message of the person and for an opt-out."""

    at: datetime
    campaign: str
    what: str


def read_spellings(text: str, region: str | None) -> tuple[int, ...]:
    """Return the numbers of a phone in any spelling. A national one needs its region. Raise UsageError if it
    is no phone.
    """
    return phone_aliases(str(read_phone(text, region)))


async def find_recipients(connection: Connection, spellings: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return the person's range ids and seqs in all campaigns. This is part of the caller's transaction."""
    sql = statements("person")
    await connection.execute(sql["look_by_filter"])
    rows = await connection.fetch(sql["recipients"], spellings[0], spellings[-1], timeout=LOOK_TIMEOUT_S)
    return [row["range_id"] for row in rows], [row["seq"] for row in rows]


async def read_person(connection: Connection, spellings: Sequence[int]) -> Person:
    """Return everything that is stored of the person."""
    sql = statements("person")
    async with connection.transaction(readonly=True):
        keys = await find_recipients(connection, spellings)
        states = await connection.fetch(sql["states"], *keys)
        attempts = await connection.fetch(sql["attempts"], *keys)
        pending = await connection.fetch(sql["pending_attempts"], *keys)
        messages = await connection.fetch(sql["messages"], [str(phone) for phone in spellings])
        suppression = await connection.fetchrow(sql["suppression"], list(spellings))
    of_recipient: dict[tuple[int, int], list[PersonAttempt]] = {}
    for row in attempts:
        of_recipient.setdefault((row["range_id"], row["seq"]), []).append(_settled(row))
    for row in pending:
        of_recipient.setdefault((row["range_id"], row["seq"]), []).append(_unsettled(row))
    return Person(
        tuple(spellings),
        None if suppression is None else suppression["reason"],
        None if suppression is None else suppression["added_at"],
        tuple(_campaign(row, of_recipient.get((row["range_id"], row["seq"]), [])) for row in states),
        tuple(_message(row) for row in messages),
    )


def events(person: Person) -> list[PersonEvent]:
    """Return all events in the order in which they happened."""
    found = [event for campaign in person.campaigns for event in _campaign_events(campaign)]
    found += [
        PersonEvent(message.sent_at, "", f"wrote ({message.type}): {message.text}".rstrip(": "))
        for message in person.messages
    ]
    if person.suppressed_at is not None:
        found.append(PersonEvent(person.suppressed_at, "", f"suppressed: {person.suppressed_because}"))
    return sorted(found, key=lambda event: event.at)


def _campaign_events(campaign: PersonCampaign) -> Iterator[PersonEvent]:
    """Give the events of a campaign. `at` of a status is never before its attempt, so that sorting by it
    keeps them in order.
    """
    yield PersonEvent(campaign.planned_at, campaign.campaign, f"planned, line {campaign.line}")
    for attempt in campaign.attempts:
        began = attempt.attempted_at
        number = f"attempt {attempt.attempt_no} by {attempt.phone_number_id}"
        why = f": {_why(attempt)}" if _why(attempt) else ""
        if began is not None:
            said = attempt.outcome if attempt.outcome == "accepted" else f"{attempt.outcome}{why}"
            yield PersonEvent(began, campaign.campaign, f"{number}, {said}")
        for word, at in (
            ("sent", attempt.sent_at),
            ("delivered", attempt.delivered_at),
            ("read", attempt.read_at),
            (f"failed{why}", attempt.failed_at),
        ):
            if at is not None:
                yield PersonEvent(max(at, began or at), campaign.campaign, word)


def _why(attempt: PersonAttempt) -> str:
    code = "" if attempt.code is None else f"{attempt.code} "
    return f"{code}{attempt.reason or ''}".strip()


def _campaign(row: asyncpg.Record, attempts: Sequence[PersonAttempt]) -> PersonCampaign:
    template = shares_in(row["template"])[row["template_index"]]
    reason = failure_texts(row["code"], row["reason"])[0] if row["state"] == "failed" else row["reason"]
    return PersonCampaign(
        row["campaign"],
        row["campaign_state"],
        row["created_at"],
        row["line"],
        template.name,
        template.language,
        template.variant,
        row["state"],
        reason,
        row["due_at"],
        tuple(attempts),
    )


def _settled(row: asyncpg.Record) -> PersonAttempt:
    reason, detail = failure_texts(row["code"], row["reason"]) if row["code"] else (row["reason"], None)
    return PersonAttempt(
        row["attempt_no"],
        row["phone_number_id"],
        _OUTCOMES[row["kind"]],
        None if row["status"] is None else EvidenceRank(row["status"]).name.lower(),
        row["wamid"],
        row["code"],
        reason,
        detail,
        None if row["pricing"] is None else _price(row["pricing"]),
        *(row[name] for name in ("attempted_at", "sent_at", "delivered_at", "read_at", "failed_at")),
    )


def _unsettled(row: asyncpg.Record) -> PersonAttempt:
    return PersonAttempt(
        row["attempt_no"],
        row["phone_number_id"],
        row["state"],
        None,
        None,
        None,
        row["reason"],
        None,
        None,
        row["since"],
        None,
        None,
        None,
        None,
    )


def _price(code: int) -> str:
    pricing = pricing_of(code)
    return f"{pricing.category}, {'billable' if pricing.billable else 'free'}"


def _message(row: asyncpg.Record) -> PersonMessage:
    body = row["body"]
    context = body.get("context")
    quotes = context.get("id") if isinstance(context, dict) else None
    return PersonMessage(
        row["wamid"], row["phone_number_id"], row["type"], row["sent_at"], reply_text(body), quotes
    )
