"""What the bench reads from the store: evidence, who owns a number, and whether a campaign has ended."""

from collections import Counter

from drumbeat.engine.store.database import Connection
from tests.chaos.checks import AttemptKey, Recipient

STATES = ("deferred", "accepted", "sent", "delivered", "read", "failed", "unknown", "skipped")

Counts = dict[int, Counter[str]]

# The bench's own table: the product's tables no longer show an attempt in doubt that was settled.
NOTES = """
CREATE TABLE chaos_attempts_in_doubt (range_id bigint, seq integer, attempt_no integer, PRIMARY KEY (range_id, seq, attempt_no));
CREATE FUNCTION chaos_note_attempt() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO chaos_attempts_in_doubt VALUES (NEW.range_id, NEW.seq, NEW.attempt_no) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER chaos_note_attempt AFTER INSERT OR UPDATE ON pending_attempts
    FOR EACH ROW WHEN (NEW.state = 'unknown') EXECUTE FUNCTION chaos_note_attempt();
"""


async def note_attempts_in_doubt(connection: Connection) -> None:
    """Note every attempt that is in doubt from now on, however briefly."""
    await connection.execute(NOTES)


async def ever_in_doubt(connection: Connection, campaign_id: int) -> frozenset[AttemptKey]:
    """The attempts of a campaign that were in doubt at any time."""
    rows = await connection.fetch(
        "SELECT range_id, seq, attempt_no FROM chaos_attempts_in_doubt JOIN ranges USING (range_id) WHERE campaign_id = $1",
        campaign_id,
    )
    return frozenset((row["range_id"], row["seq"], row["attempt_no"]) for row in rows)


async def owner_pid(connection: Connection, phone_number_id: str) -> int | None:
    """The process that holds a number now; None if none does."""
    pid: int | None = await connection.fetchval(
        "SELECT (owner_process ->> 'pid')::integer FROM numbers WHERE phone_number_id = $1 AND NOT released",
        phone_number_id,
    )
    return pid


async def progress(connection: Connection, campaign_id: int) -> tuple[str, str, int]:
    """State and reason of a campaign, and how many are in doubt at this moment."""
    row = await connection.fetchrow(
        "SELECT state, reason,"
        " (SELECT coalesce(sum(unknown), 0) FROM range_counters WHERE campaign_id = $1)::integer"
        " AS unknown FROM campaigns WHERE campaign_id = $1",
        campaign_id,
    )
    assert row is not None
    return row["state"], row["reason"], row["unknown"]


async def states(connection: Connection, campaign_id: int) -> list[Recipient]:
    rows = await connection.fetch(
        "SELECT range_id, seq, state FROM recipient_states WHERE campaign_id = $1", campaign_id
    )
    return [Recipient(*row) for row in rows]


async def written(connection: Connection, campaign_id: int) -> dict[str, float | None]:
    """Every wamid that the store knows, with the wall time of its writing where that was recorded."""
    rows = await connection.fetch(
        "SELECT wamid, extract(epoch FROM attempted_at)::float8 AS written_s FROM outcomes"
        " WHERE wamid IS NOT NULL AND range_id IN (SELECT range_id FROM ranges WHERE campaign_id = $1)",
        campaign_id,
    )
    return {row["wamid"]: row["written_s"] for row in rows}


async def range_counters(connection: Connection, campaign_id: int) -> Counts:
    rows = await connection.fetch("SELECT * FROM range_counters WHERE campaign_id = $1", campaign_id)
    return {row["range_id"]: Counter({state: row[state] for state in STATES if row[state]}) for row in rows}


def recount(recipients: list[Recipient]) -> Counts:
    counted: Counts = {recipient.range_id: Counter() for recipient in recipients}
    for recipient in recipients:
        if recipient.state != "pending":
            counted[recipient.range_id][recipient.state] += 1
    return counted


async def waiting_events(connection: Connection) -> int:
    """Statuses that are not applied, and account events that were not acted on."""
    found: int = await connection.fetchval(
        "SELECT (SELECT count(*) FROM waiting_events) + (SELECT count(*) FROM account_events WHERE acted_at IS NULL)"
    )
    return found


async def trace(connection: Connection, campaign_id: int) -> str:
    """Why a campaign does not end: its ranges, pending attempts and numbers."""
    parts = []
    for query in (
        "SELECT state, phone_number_id, epoch, claimed_through < last_seq AS more, count(*) FROM ranges"
        " WHERE campaign_id = $1 GROUP BY 1, 2, 3, 4",
        "SELECT pending_attempts.state, attempt_no, pending_attempts.epoch, reason, count(*)"
        " FROM pending_attempts JOIN ranges USING (range_id)"
        " WHERE campaign_id = $1 GROUP BY 1, 2, 3, 4",
        "SELECT phone_number_id, epoch, owner, released, leased_until - now() AS runs, suspended_reason"
        " FROM numbers WHERE $1 > 0",
        "SELECT state, count(*) FROM recipient_states WHERE campaign_id = $1 GROUP BY 1",
    ):
        parts += [str(dict(row)) for row in await connection.fetch(query, campaign_id)]
    return "\n".join(parts)
