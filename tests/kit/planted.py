"""Campaigns planted straight into the store, for tests that need recipients and attempts without a plan."""

from collections import Counter
from datetime import UTC, datetime
from itertools import count

from drumbeat.engine.core.events.records import NO_TAG, Parsed, StatusEvent
from drumbeat.engine.core.tag import Tag
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.inbox import EventFlow, write_together

NUMBER = "100200300"
STATES = ("deferred", "accepted", "sent", "delivered", "read", "failed", "unknown", "skipped")
FIRST_RANGE = 2400 << 47
NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)
_names = count()


async def plant_campaign(
    connection: Connection,
    *,
    ranges: int = 1,
    recipients: int = 10,
    claimed_through: int | None = None,
    first_phone: int = 5511900000000,
    first_range: int = FIRST_RANGE,
    state: str = "running",
    on_unknown: str = "hold",
    number: str = NUMBER,
) -> int:
    """A campaign whose ranges are claimed up to `claimed_through` (all by default) by epoch 1 of `number`; returns its id."""
    campaign_id = await _plant_campaign_row(connection, number, state, on_unknown)
    ids = [first_range + ordinal for ordinal in range(ranges)]
    claimed = recipients if claimed_through is None else claimed_through
    await _plant_ranges(connection, campaign_id, ids, recipients, claimed, number)
    await connection.execute(
        "INSERT INTO recipients (range_id, seq, phone, variables, line)"
        " SELECT id, seq, $2 + (id - $4) * $3 + seq, '{}', seq"
        " FROM unnest($1::bigint[]) AS id, generate_series(1, $3::integer) AS seq",
        ids,
        first_phone,
        recipients,
        first_range,
    )
    return campaign_id


async def _plant_campaign_row(connection: Connection, number: str, state: str, on_unknown: str) -> int:
    await connection.execute("SELECT create_partitions(date '2020-01-01' + 2400)")
    await connection.execute(
        "INSERT INTO numbers (phone_number_id, epoch, display_phone_number)"
        " VALUES ($1, 1, '+55 11 4000-0000') ON CONFLICT DO NOTHING",
        number,
    )
    campaign_id: int = await connection.fetchval(
        "INSERT INTO campaigns (name, content_hash, options, state, template, phone_number_ids, on_unknown)"
        ' VALUES ($1, \'\', \'{}\', $2, \'{"name": "offer", "language": "pt_BR"}\', $3, $4)'
        " RETURNING campaign_id",
        f"campaign {next(_names)}",
        state,
        [number],
        on_unknown,
    )
    return campaign_id


async def _plant_ranges(
    connection: Connection,
    campaign_id: int,
    ids: list[int],
    recipients: int,
    claimed_through: int,
    number: str,
) -> None:
    await connection.execute(
        "INSERT INTO ranges (range_id, campaign_id, ordinal, last_seq, claimed_through, phone_number_id, epoch)"
        " SELECT id, $2, id - $5, $3, $4, $6, 1 FROM unnest($1::bigint[]) AS id",
        ids,
        campaign_id,
        recipients,
        claimed_through,
        ids[0],
        number,
    )
    await connection.execute(
        "INSERT INTO range_counters (range_id, campaign_id, recipients)"
        " SELECT id, $2, $3 FROM unnest($1::bigint[]) AS id",
        ids,
        campaign_id,
        recipients,
    )
    await connection.execute(
        "INSERT INTO claims (range_id, from_seq, epoch, phone_number_id, claimed_at)"
        " SELECT id, 1, 1, $2, $3 FROM unnest($1::bigint[]) AS id",
        ids,
        number,
        NOON,
    )


def microseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000)


async def installation(connection: Connection) -> str:
    found: str = await connection.fetchval("SELECT installation FROM installation")
    return found


def status_event(wamid: str, rank: int, tag: Tag | None = None, **others: object) -> StatusEvent:
    """A status at NOON of NUMBER, unless `others` says otherwise."""
    event = StatusEvent(wamid, rank, microseconds(NOON), NUMBER, None, *(tag or NO_TAG), None, None)  # type: ignore[arg-type]
    return event._replace(**others)


async def put_in_inbox(connection: Connection, *events: StatusEvent) -> None:
    await write_together(connection, Parsed(list(events)), EventFlow())


async def make_all_due(connection: Connection) -> None:
    """The waits of unmatched events are over."""
    await connection.execute("UPDATE inbox SET due_at = now()")


async def range_counters(connection: Connection) -> dict[int, Counter[str]]:
    """By range, as the store counts; states without recipients are left out."""
    rows = await connection.fetch("SELECT * FROM range_counters")
    return {row["range_id"]: Counter({state: row[state] for state in STATES if row[state]}) for row in rows}


async def recount(connection: Connection) -> dict[int, Counter[str]]:
    """By range, counted anew from the facts; pending ones are left out, as in the range counters."""
    rows = await connection.fetch("SELECT range_id, state FROM recipient_states")
    counted: dict[int, Counter[str]] = {row["range_id"]: Counter() for row in rows}
    for row in rows:
        if row["state"] != "pending":
            counted[row["range_id"]][row["state"]] += 1
    return counted


async def state_of(connection: Connection, seq: int, range_id: int = FIRST_RANGE) -> str:
    found: str = await connection.fetchval(
        "SELECT state FROM recipient_states WHERE range_id = $1 AND seq = $2", range_id, seq
    )
    return found


async def put_in_doubt(connection: Connection, range_id: int, *seqs: int, number: str = NUMBER) -> None:
    """Put first attempts in doubt, as a new owner does that finds no outcome."""
    await connection.execute(
        "INSERT INTO pending_attempts (range_id, seq, attempt_no, state, epoch, phone_number_id, reason)"
        " SELECT $1, seq, 1, 'unknown', 1, $3, 'its sender ended' FROM unnest($2::integer[]) AS seq",
        range_id,
        list(seqs),
        number,
    )
    await connection.execute(
        "UPDATE range_counters SET unknown = unknown + $2 WHERE range_id = $1", range_id, len(seqs)
    )


async def age(connection: Connection, seconds: float) -> None:
    """The attempts are in doubt for so long, and events of their number arrived all the time."""
    await connection.execute("UPDATE pending_attempts SET since = now() - make_interval(secs => $1)", seconds)
    await connection.execute(
        "INSERT INTO event_flow VALUES ($1, now())"
        " ON CONFLICT (phone_number_id) DO UPDATE SET last_event_at = now(), flows_since = '-infinity'",
        NUMBER,
    )
