"""The erasure of one person: the phone, the values, the messages and every id that holds the phone.

Law: no recipient disappears, so all counts add up. A keyed hash takes the place of the phone and of the
service's ids: one person stays one person in counts, and a late status finds its attempt. Nobody is forgotten
while a message may still be sent to them: the sender needs the phone until then.
"""

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import asyncpg

from drumbeat.campaigns.command_text import command_text
from drumbeat.campaigns.results.person import find_recipients
from drumbeat.campaigns.sql import statements
from drumbeat.engine.core.states import CampaignState, RecipientState
from drumbeat.engine.errors import NotFound, TryLater
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.facts import Fact, FactKind
from drumbeat.engine.store.queries import queries
from drumbeat.engine.store.recording import record_looked_up

FORGOTTEN = "forgotten"  # why a recipient was skipped
_HASH_DIGITS = 32
_WAITING = (RecipientState.PENDING, RecipientState.DEFERRED)
_AT_REST = (CampaignState.DRAFT, CampaignState.SCHEDULED, CampaignState.PAUSED)


@dataclass(frozen=True, slots=True)
class ForgetReceipt:
    """The account of what was erased.

    `pseudonym` stands in the place of the phone. `skipped` counts messages that were not sent yet and never
    will be. `messages` counts what the person wrote. `suppressed` says that the phone stays on the
    suppression list, because without it the person could get messages again.
    """

    pseudonym: str
    recipients: int
    campaigns: tuple[str, ...]
    skipped: int
    attempts: int
    messages: int
    events: int
    suppressed: bool
    at: datetime

    def as_json(self) -> dict[str, Any]:
        return {"schema": 1, **asdict(self)}


class _Hashes:
    """Keyed hashes of what is erased."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def phone(self, spellings: Sequence[int]) -> int:
        """Return the same negative number for all spellings of a phone."""
        digest = hmac.digest(self._key, str(max(spellings)).encode(), hashlib.sha256)
        return -1 - (int.from_bytes(digest[:8]) >> 1)

    def text(self, given: str | None) -> str | None:
        if given is None:
            return None
        digest = hmac.digest(self._key, given.encode(), hashlib.sha256)
        return f"{FORGOTTEN}:{digest.hex()[:_HASH_DIGITS]}"


async def forget_person(connection: Connection, spellings: Sequence[int], *, actor: str) -> ForgetReceipt:
    """Erase the person and note it in the audit. A second call erases only what came since.

    In campaigns that do not run, the person is skipped first. Raise TryLater if the person is in doubt, or if
    a campaign that runs may still send.
    """
    async with connection.transaction():
        skipped = await _skip_unsent(connection, await _locked_states(connection, spellings))
    async with connection.transaction():
        recipients = await _locked_states(connection, spellings)
        _require_nothing_to_send(recipients)
        return await _erase(connection, spellings, recipients, skipped, actor)


async def read_receipt(pool: Pool, pseudonym: str) -> ForgetReceipt:
    """Return the latest receipt with this pseudonym. Raise NotFound if nobody was erased under it."""
    noted = await pool.fetchval(statements("results_pages")["receipt"], pseudonym)
    if noted is None:
        raise NotFound(f"nobody was erased as {pseudonym}")
    given = {**noted, "at": datetime.fromisoformat(noted["at"]), "campaigns": tuple(noted["campaigns"])}
    return ForgetReceipt(**given)


async def _locked_states(connection: Connection, spellings: Sequence[int]) -> list[asyncpg.Record]:
    """Return the person's recipients. Campaigns, ranges and range counters are locked, in this order: none of
    the recipients is claimed or recorded meanwhile.
    """
    keys = await find_recipients(connection, spellings)
    found = await connection.fetch(statements("person")["states"], *keys)
    range_ids = sorted(set(keys[0]))
    campaign_ids = sorted({row["campaign_id"] for row in found})
    await connection.fetch(statements("forget")["lock_campaigns"], campaign_ids)
    await connection.fetch(statements("forget")["lock_ranges"], range_ids)
    await connection.execute(queries("facts")["lock_range_counters"], range_ids)
    return await connection.fetch(statements("person")["states"], *keys)


async def _skip_unsent(connection: Connection, recipients: Sequence[asyncpg.Record]) -> int:
    """Skip the person in campaigns that do not run. `_require_nothing_to_send` finds claimed recipients."""
    unsent = [row for row in recipients if row["state"] in _WAITING and row["campaign_state"] in _AT_REST]
    keys = [row["range_id"] for row in unsent], [row["seq"] for row in unsent]
    ranges = await connection.fetch(statements("forget")["lock_ranges"], sorted(set(keys[0])))
    claimed_through = {row["range_id"]: row["claimed_through"] for row in ranges}
    pending = {
        (row["range_id"], row["seq"]): row
        for row in await connection.fetch(statements("person")["pending_attempts"], *keys)
    }
    facts = []
    for row in unsent:
        waits = pending.get((row["range_id"], row["seq"]))
        if waits is not None and waits["state"] == RecipientState.DEFERRED:
            facts.append(_skip(row, waits["attempt_no"], waits["epoch"], waits["phone_number_id"]))
        elif waits is None and row["seq"] > claimed_through[row["range_id"]]:
            facts.append(_skip(row, 0, 0, ""))
    await record_looked_up(connection, facts)
    return len(facts)


def _skip(row: asyncpg.Record, attempt_no: int, epoch: int, number: str) -> Fact:
    attempt = row["campaign_id"], row["range_id"], row["seq"], attempt_no, epoch, number
    return Fact(*attempt, FactKind.SKIPPED, reason=FORGOTTEN)


def _require_nothing_to_send(recipients: Sequence[asyncpg.Record]) -> None:
    for row in recipients:
        name = row["campaign"]
        if row["state"] == RecipientState.UNKNOWN:
            raise TryLater(
                f'the person is in doubt in the campaign "{name}", and a status may still come',
                remedy=f"see `{command_text('campaign', 'settle', name)}`",
            )
        if row["state"] in _WAITING:
            raise TryLater(
                f'the campaign "{name}" may still send to the person',
                remedy=f"wait until it has, or stop it with `{command_text('campaign', 'pause', name)}`",
            )


async def _erase(
    connection: Connection,
    spellings: Sequence[int],
    recipients: Sequence[asyncpg.Record],
    skipped: int,
    actor: str,
) -> ForgetReceipt:
    sql = statements("forget")
    digits = [str(phone) for phone in spellings]
    if await connection.fetchval(sql["has_waiting_events"], digits):
        raise TryLater("events of the person wait to be applied", remedy="try again in a few seconds")
    hashes = _Hashes(await connection.fetchval(sql["key"]))
    pseudonym = hashes.phone(spellings)
    keys = [row["range_id"] for row in recipients], [row["seq"] for row in recipients]
    attempts = await _erase_outcomes(connection, keys, hashes)
    await connection.execute(sql["erase_recipients"], *keys, pseudonym)
    messages = await _erase_messages(connection, digits, str(pseudonym), hashes)
    events = _rows(await connection.execute(sql["delete_events"], digits))
    events += _rows(await connection.execute(sql["delete_unreadable"], digits))
    events += _rows(await connection.execute(sql["delete_account_events"], digits))
    events += _rows(await connection.execute(sql["erase_opt_outs"], list(spellings), pseudonym))
    await connection.execute(sql["erase_noted"], list(spellings))
    await connection.execute(sql["delete_ids"], list(spellings))
    await connection.execute(sql["lock_quotas"], list(spellings))
    await connection.execute(sql["erase_quota"], list(spellings), pseudonym)
    receipt = ForgetReceipt(
        pseudonym=f"{FORGOTTEN}{pseudonym}",
        recipients=len(recipients),
        campaigns=tuple(dict.fromkeys(row["campaign"] for row in recipients)),
        skipped=skipped,
        attempts=attempts,
        messages=messages,
        events=events,
        suppressed=await connection.fetchrow(statements("person")["suppression"], list(spellings))
        is not None,
        at=datetime.now(UTC),
    )
    await connection.execute(queries("campaigns")["audit"], actor, "person-forget", None, _noted(receipt))
    return receipt


async def _erase_outcomes(connection: Connection, keys: tuple[list[int], list[int]], hashes: _Hashes) -> int:
    rows = await connection.fetch(statements("person")["attempts"], *keys)
    await connection.execute(
        statements("forget")["erase_outcomes"],
        *([row[name] for row in rows] for name in ("range_id", "seq", "attempt_no")),
        [hashes.text(row["wamid"]) for row in rows],
    )
    return sum(row["attempt_no"] > 0 for row in rows)


async def _erase_messages(
    connection: Connection, digits: Sequence[str], pseudonym: str, hashes: _Hashes
) -> int:
    rows = await connection.fetch(statements("person")["messages"], digits)
    contexts = [row["body"].get("context") for row in rows]
    quoted = [hashes.text(found.get("id")) if isinstance(found, dict) else None for found in contexts]
    wamids = [row["wamid"] for row in rows]
    renamed = list(map(hashes.text, wamids))
    await connection.execute(statements("forget")["erase_messages"], wamids, renamed, quoted, pseudonym)
    return len(rows)


def _noted(receipt: ForgetReceipt) -> dict[str, Any]:
    """Return the receipt for the audit, whose detail is JSON."""
    return {**asdict(receipt), "at": receipt.at.isoformat(), "campaigns": list(receipt.campaigns)}


def _rows(command_tag: str) -> int:
    """Return how many rows a statement changed, from the tag that Postgres answers."""
    return int(command_tag.rpartition(" ")[2])
