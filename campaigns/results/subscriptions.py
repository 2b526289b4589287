"""The subscriptions of programs: what happens to recipients is posted to them, or waits to be fetched.

Law: while there is no subscription, no event is noted. A subscription begins with what happens after it.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

import asyncpg
from pydantic import SecretStr

from drumbeat.campaigns.actor import note_audit
from drumbeat.campaigns.campaign import find_campaign
from drumbeat.campaigns.sql import statements
from drumbeat.engine.core.recipient_event import KIND_OF, PAGE_MAX, EventKind
from drumbeat.engine.errors import NotFound, UsageError
from drumbeat.engine.process.notification_settings import checked_url
from drumbeat.engine.store.database import Pool
from drumbeat.engine.store.queries import queries
from drumbeat.engine.store.recipient_events import EventPage, event_page, number_events, stored_kinds

NAME = re.compile(r"[A-Za-z0-9._@+-]{1,64}")
SECRET_BYTES = 32
SECRET_CHARACTERS_MIN = 16
SECRET_CHARACTERS_MAX = 200
URL_CHARACTERS_MAX = 2_000
SUBSCRIPTIONS_MAX = 20  # each is a reader of all events


@dataclass(frozen=True, slots=True)
class Subscription:
    """A subscription. `url` is None if the program fetches its events; `campaign` is None if it hears of all.

    `through_id`: the number of the last event that the program took. `waiting`: how many numbers follow it,
    None without a url. `attempts` failed since the last success, and `problem` is why the last one did.
    `lost`: events that were deleted before the program took them.
    """

    name: str
    url: str | None
    campaign: str | None
    kinds: list[EventKind]
    through_id: int
    waiting: int | None
    attempts: int
    problem: str | None
    next_attempt_at: datetime | None
    lost: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class NewSubscription:
    """A new subscription. `secret` signs what is posted, and is not shown again; None without a url. `after`:
    the number to read events after.
    """

    name: str
    secret: str | None
    after: int


async def add_subscription(
    pool: Pool,
    name: str,
    *,
    url: str | None = None,
    secret: str | None = None,
    campaign: str | None = None,
    kinds: Collection[EventKind] = (),
    actor: str,
) -> NewSubscription:
    """Store a subscription. Without a secret, make one. Raise UsageError if the name is taken or the url is
    neither https nor of this machine.
    """
    _check(name, url, secret)
    if url is not None:
        secret = secret or secrets.token_urlsafe(SECRET_BYTES)
    campaign_id = None if campaign is None else (await find_campaign(pool, campaign)).campaign_id
    sql = statements("subscriptions")
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute(sql["lock"])
        if await connection.fetchval(sql["count"]) >= SUBSCRIPTIONS_MAX:
            raise UsageError(
                f"there are {SUBSCRIPTIONS_MAX} subscriptions already", remedy="remove one of them"
            )
        given = (name, url, secret, campaign_id, stored_kinds(kinds))
        after = await connection.fetchval(sql["add"], *given)
        if after is None:
            raise UsageError(
                f'there is a subscription "{name}" already', remedy="remove it, or use another name"
            )
        await note_audit(connection, actor, "subscription-add", subscription=name)
    return NewSubscription(name, secret, after)


async def list_subscriptions(pool: Pool) -> list[Subscription]:
    """Return all subscriptions, ordered by name."""
    return [_subscription(row) for row in await pool.fetch(statements("subscriptions")["listed"], None)]


async def find_subscription(pool: Pool, name: str) -> Subscription:
    """Return a subscription. Raise NotFound if there is none of this name."""
    row = await pool.fetchrow(statements("subscriptions")["listed"], name)
    if row is None:
        raise _unknown(name)
    return _subscription(row)


async def remove_subscription(pool: Pool, name: str, *, actor: str) -> None:
    """Remove a subscription: nothing is posted to it from now on. Raise NotFound if there is none."""
    async with pool.acquire() as connection, connection.transaction():
        if await connection.fetchval(statements("subscriptions")["remove"], name) is None:
            raise _unknown(name)
        await note_audit(connection, actor, "subscription-remove", subscription=name)


async def read_events(
    pool: Pool,
    after: int,
    limit: int,
    *,
    campaign: str | None = None,
    kinds: Collection[EventKind] = (),
) -> EventPage:
    """Return the events after a number, also of people who were told already. Raise NotFound if there is no
    subscription, because then no event is noted.
    """
    if not (0 <= after < 2**63 and 1 <= limit <= PAGE_MAX):
        raise UsageError(f"after must not be negative, and limit must be 1 to {PAGE_MAX}")
    campaign_id = None if campaign is None else (await find_campaign(pool, campaign)).campaign_id
    async with pool.acquire() as connection:
        if not await connection.fetchval(queries("recipient_events")["has_subscriptions"]):
            raise NotFound(
                "no events are kept, because there is no subscription",
                remedy="add a subscription; one without a url keeps events that you fetch",
            )
        await number_events(connection)
        return await event_page(connection, after, limit, campaign_id=campaign_id, kinds=stored_kinds(kinds))


def _check(name: str, url: str | None, secret: str | None) -> None:
    if not NAME.fullmatch(name):
        raise UsageError(f"{name!r} cannot be a name", remedy="use 1 to 64 letters, digits and . _ @ + -")
    if url is None:
        if secret is not None:
            raise UsageError("a secret without a url signs nothing", remedy="give both, or none of them")
        return
    try:
        checked_url(SecretStr(url))
    except ValueError as error:
        raise UsageError(f"the url {error}") from error
    if len(url) > URL_CHARACTERS_MAX:
        raise UsageError(f"the url is longer than {URL_CHARACTERS_MAX} characters")
    if secret is not None and not SECRET_CHARACTERS_MIN <= len(secret) <= SECRET_CHARACTERS_MAX:
        raise UsageError(
            f"a secret must have {SECRET_CHARACTERS_MIN} to {SECRET_CHARACTERS_MAX} characters",
            remedy="give none, and one is made",
        )


def _unknown(name: str) -> NotFound:
    return NotFound(f'there is no subscription "{name}"', remedy="list the subscriptions to see their names")


def _subscription(row: asyncpg.Record) -> Subscription:
    kinds = [KIND_OF[kind] for kind in row["kinds"] or sorted(KIND_OF)]
    return Subscription(**{**dict(row), "kinds": kinds})
