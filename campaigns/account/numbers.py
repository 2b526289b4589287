"""The business numbers and their limits, set by the service or by a person."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from drumbeat.campaigns.actor import note_audit
from drumbeat.campaigns.describe_database import describe_database
from drumbeat.campaigns.sql import statements
from drumbeat.engine.core.limits.quota import QuotaStanding
from drumbeat.engine.core.limits.tier import SaidTier, Tier, TierDoubt, parse_tier
from drumbeat.engine.core.pace.token_bucket import check_limit
from drumbeat.engine.errors import ConfigurationError, NotFound, UsageError
from drumbeat.engine.sending import number_sync
from drumbeat.engine.sending.number_sync import DEFAULT_LIMIT_PER_S, NumbersSource
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.queries import queries
from drumbeat.engine.store.quota import read_number_standings


@dataclass(frozen=True, slots=True)
class BusinessNumber:
    """A business number.

    `owner` is the process that sends with it now. `limit_is_manual` says that a person set the limit.
    `rate_per_s` is the pace that the owner keeps to, None without an owner; `achieved_per_s` is what the
    number sent in the last seconds. `slowed_since` is the time since when the owner sends slower, because the
    service throttles the number. `stopped` holds until a person resumes the number; `suspended_until` is the
    end of a rest that ends by itself. `service_away`: the service does not answer the process that sends with
    it. `unlisted_at` is the time since when the account no longer lists it. `campaigns` may still send with
    it. The fields `quota_*` are those of `NumberProgress`. `known_tier` is the last word for its messaging
    limit that was understood. `tier_doubt` says why the limit that counts is not what the service states now.
    """

    phone_number_id: str
    display_phone_number: str | None
    verified_name: str | None
    quality_rating: str | None
    messaging_limit_tier: str | None
    known_tier: str | None
    status: str | None
    limit_per_s: float
    limit_is_manual: bool
    rate_per_s: float | None
    achieved_per_s: float
    slowed_since: datetime | None
    throttles: int
    owner: str | None
    stopped: bool
    suspended_until: datetime | None
    suspended_reason: str | None
    service_away: bool
    unlisted_at: datetime | None
    synced_at: datetime | None
    campaigns: list[str]
    quota_limit: int | None
    quota_used: int | None
    quota_more_at: datetime | None
    tier_doubt: TierDoubt | None

    @property
    def said_tier(self) -> Tier | None:
        """Return the messaging limit that the service states now; None if its word is not understood."""
        return parse_tier(self.messaging_limit_tier)


@dataclass(frozen=True, slots=True)
class ResumedNumber:
    """The result of resuming a number. `reason` says why the number did not send; None if nothing stopped it.
    `paused_campaigns` are those that were paused because all of their numbers, this one among them, were
    stopped.
    """

    phone_number_id: str
    reason: str | None
    paused_campaigns: tuple[str, ...]


async def sync_numbers(
    pool: Pool, source: NumbersSource, waba_id: str, *, actor: str = ""
) -> list[BusinessNumber]:
    """Read the account's numbers from the service and store them; return all stored numbers."""
    await number_sync.sync_numbers(pool, source, waba_id)
    await note_audit(pool, actor, "number-sync")
    return await list_numbers(pool)


async def read_number_names(pool: Pool) -> dict[str, str]:
    """Return how people call each stored number, by its id: its name and phone, as far as they are known."""
    rows = await pool.fetch(statements("numbers")["names"])
    return {row["phone_number_id"]: row["called"] for row in rows}


async def list_numbers(pool: Pool) -> list[BusinessNumber]:
    """Return all stored numbers, ordered by id."""
    rows = await pool.fetch(statements("numbers")["list"], DEFAULT_LIMIT_PER_S)
    standings = await read_number_standings(pool)
    return [
        BusinessNumber(
            **dict(row),
            **quota_fields(standings.get(row["phone_number_id"])),
            tier_doubt=SaidTier(row["messaging_limit_tier"], row["known_tier"]).doubt,
        )
        for row in rows
    ]


async def set_limit(pool: Pool, phone_number_id: str, limit_per_s: float | None, *, actor: str = "") -> None:
    """Set a limit by hand; None restores the service's limit. A running owner follows. `actor` is noted in
    the audit.

    Raise UsageError if no number can keep to the rate, ConfigurationError if the number is not stored.
    """
    if limit_per_s is not None:
        try:
            check_limit(limit_per_s)
        except ValueError as error:
            raise UsageError(str(error)) from None
    async with pool.acquire() as connection, connection.transaction():
        found = await connection.fetchval(statements("numbers")["set_limit"], phone_number_id, limit_per_s)
        if found is None:
            raise await _unknown(connection, phone_number_id)
        await note_audit(connection, actor, "number-limit", number=phone_number_id, limit_per_s=limit_per_s)


async def resume_number(pool: Pool, phone_number_id: str, *, actor: str) -> ResumedNumber:
    """Let a number send again that rests, or that was stopped until a person acts. `actor` is noted in the
    audit.

    Campaigns that were paused because of it stay paused. Raise ConfigurationError if the number is not
    stored.
    """
    sql = statements("numbers")
    async with pool.acquire() as connection, connection.transaction():
        row = await connection.fetchrow(sql["lock"], phone_number_id)
        if row is None:
            raise await _unknown(connection, phone_number_id)
        reason = (row["suspended_reason"] or "stopped") if row["stopped"] or row["rests"] else None
        if reason is not None:
            await connection.execute(sql["resume"], phone_number_id)
            detail = {"number": phone_number_id, "reason": reason, "command": "numbers resume"}
            await connection.execute(queries("campaigns")["audit"], actor, "number-resume", None, detail)
        paused = await connection.fetch(sql["paused_campaigns"], phone_number_id)
    return ResumedNumber(phone_number_id, reason, tuple(campaign["name"] for campaign in paused))


async def _unknown(database: Pool | Connection, phone_number_id: str) -> ConfigurationError:
    return NotFound(
        f"there is no number {phone_number_id}",
        where=await describe_database(database),
        remedy="run `drumbeat numbers sync`",
    )


def quota_fields(standing: QuotaStanding | None) -> dict[str, Any]:
    """Return how much of a number's messaging limit is used, under the field names of the commands."""
    if standing is None:
        return {"quota_limit": None, "quota_used": None, "quota_more_at": None}
    more_at = None if standing.left else standing.more_at
    return {"quota_limit": standing.limit, "quota_used": standing.used, "quota_more_at": more_at}
