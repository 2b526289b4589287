"""Inserts numbers and campaigns that are ready to be sent, and reads their states."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from typing import Any, cast

from pydantic import SecretStr

from drumbeat.engine.core.pace.circuit_breaker import CircuitBreaker
from drumbeat.engine.process.identity import ProcessIdentity, this_process
from drumbeat.engine.process.secret_file import SecretFile
from drumbeat.engine.process.settings import ServiceSettings
from drumbeat.engine.sending.access_token import AccessToken
from drumbeat.engine.sending.campaign_cache import CampaignCache
from drumbeat.engine.sending.claim_batcher import ClaimBatcher
from drumbeat.engine.sending.flow_context import FlowContext
from drumbeat.engine.sending.header_file_uploads import no_uploads
from drumbeat.engine.sending.results_writer import ResultsWriter
from drumbeat.engine.sending.stop_requests import StopRequests
from drumbeat.engine.sending.timing import Timing
from drumbeat.engine.store.claims import WatermarkAdvance, page
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.leases import Lease, take_lease
from drumbeat.engine.store.ranges import HeldRange, take_range

STATES = ("deferred", "accepted", "sent", "delivered", "read", "failed", "unknown", "skipped")
SLOW, FAST = "106540352242922", "106540352242923"
FIRST_RANGE = 2400 << 47
FIRST_PHONE = 5511900000000
TEMPLATE = {
    "name": "order_shipped",
    "language": "en_US",
    "definition": {
        "components": [{"type": "BODY", "text": "Hi {{1}}, your order {{2}} is on its way."}],
        "parameter_format": "POSITIONAL",
    },
}
_names = count()


@dataclass(frozen=True, slots=True)
class Planted:
    """A campaign in the store; recipient n of it, from 0, has phone `first_phone + n`."""

    campaign_id: int
    range_ids: list[int]
    first_phone: int
    recipients: int

    @property
    def phones(self) -> list[int]:
        return list(range(self.first_phone, self.first_phone + self.recipients))


def context_of(pool: Pool) -> FlowContext:
    """What the numbers of a process share, without numbers and without a service."""
    campaign_cache, service = CampaignCache(), cast("ServiceSettings", None)
    timing = Timing()
    results_writer = ResultsWriter(pool, timing.batch_period_s)
    token = AccessToken(SecretFile("access_token", SecretStr("t"), None), lambda _: None)
    parts = (
        results_writer,
        ClaimBatcher(pool),
        CircuitBreaker(float),
        StopRequests(campaign_cache),
        token,
        no_uploads,
    )
    return FlowContext(pool, service, timing, "abcdefgh", campaign_cache, *parts)


def another_process(**others: Any) -> ProcessIdentity:
    """A process of this machine that never ran: the kernel gives no pid as high as this one."""
    dead = {"pid": 4_194_305, "started_ticks": 1, **others}
    return ProcessIdentity(**{**this_process().stored(), **dead})


async def plant_numbers(connection: Connection, **limits_per_s: float) -> None:
    """Numbers by id with their limits: `plant_numbers(connection, **{SLOW: 80})`."""
    await connection.executemany(
        "INSERT INTO numbers (phone_number_id, service_limit_per_s) VALUES ($1, $2)",
        list(limits_per_s.items()),
    )


async def plant_campaign(
    connection: Connection,
    *,
    recipients: int = 10,
    range_size: int = 1_000,
    numbers: Sequence[str] = (SLOW,),
    state: str = "running",
    expires_at: datetime | None = None,
    window: tuple[Any, Any] = (None, None),
    skipped: Sequence[int] = (),
    priority: str = "normal",
    phones: Sequence[int] | None = None,
) -> Planted:
    """A planned campaign of order_shipped, cut into free ranges. `skipped`: recipients (from 0) that the
    plan found suppressed. `phones` instead of the usual ones."""
    await connection.execute("SELECT create_partitions(date '2020-01-01' + 2400)")
    async with connection.transaction():
        campaign_id: int = await connection.fetchval(
            "INSERT INTO campaigns (name, content_hash, options, state, template, phone_number_ids, expires_at,"
            " window_opens, window_closes, audience_rows, recipients, priority, planned_at)"
            " VALUES ($1, '', '{}', $2, $3, $4, $5, $6, $7, $8, $8, $9, now()) RETURNING campaign_id",
            f"campaign {next(_names)}", state, TEMPLATE, list(numbers), expires_at, *window, recipients, priority,
        )  # fmt: skip
        first_range = FIRST_RANGE + campaign_id * 10_000
        first_phone = FIRST_PHONE + campaign_id * 1_000_000
        given = list(phones) if phones is not None else list(range(first_phone, first_phone + recipients))
        skips = set(skipped)
        await connection.execute(
            "INSERT INTO recipients (range_id, seq, phone, variables, line, skip_reason)"
            " SELECT $1 + (n - 1) / $4, (n - 1) % $4 + 1, phone, ARRAY['Ana ' || n, 'LH-' || n], n + 1, skip"
            " FROM unnest($2::bigint[], $3::text[]) WITH ORDINALITY AS listed (phone, skip, n)",
            first_range, given, ["suppressed" if n in skips else None for n in range(len(given))], range_size,
        )  # fmt: skip
        for table, columns, values in (
            ("ranges", "ordinal, last_seq", "range_id - $1::bigint, max(seq)"),
            ("range_counters", "recipients, skipped", "count(*), count(skip_reason)"),
        ):
            await connection.execute(
                f"INSERT INTO {table} (range_id, campaign_id, {columns})"
                f" SELECT range_id, $2, {values} FROM recipients WHERE range_id >= $1 AND range_id < $1::bigint + 10000"
                " GROUP BY range_id"
                + (" HAVING $1::bigint IS NOT NULL" if table == "range_counters" else ""),
                first_range,
                campaign_id,
            )
    ranges = list(range(first_range, first_range - (-len(given) // range_size)))
    return Planted(campaign_id, ranges, first_phone, len(given))


async def planted(pool: Pool, recipients: int, rate_per_s: float, **others: object) -> Planted:
    """A campaign of the slow number, which has this limit."""
    async with pool.acquire() as connection:
        await plant_numbers(connection, **{SLOW: rate_per_s})
        return await plant_campaign(connection, recipients=recipients, **others)  # type: ignore[arg-type]


async def take_one_each(
    connection: Connection, numbers: Sequence[str], *, range_size: int = 10
) -> list[tuple[Lease, HeldRange]]:
    """A campaign with one range for each number; a process that is now dead took numbers and ranges."""
    await plant_numbers(connection, **dict.fromkeys(numbers, 80))
    campaign = await plant_campaign(
        connection, recipients=range_size * len(numbers), range_size=range_size, numbers=numbers
    )
    taken = []
    for number in numbers:
        lease = await take_lease(connection, number, another_process())
        held = await take_range(connection, lease, campaign.campaign_id)
        assert held is not None
        taken.append((lease, held))
    return taken


async def up_to(
    connection: Connection, lease: Lease, held: HeldRange, claimed_through: int
) -> WatermarkAdvance:
    """The claim of a range's recipients up to `claimed_through`."""
    return WatermarkAdvance(
        lease, held, claimed_through, (await page(connection, held))[: claimed_through - held.claimed_through]
    )


async def counts(connection: Connection, campaign_id: int) -> Counter[str]:
    """Recipients of a campaign by present state, from the range counters; empty states are left out."""
    sums = ", ".join(f"coalesce(sum({state}), 0)::bigint AS {state}" for state in STATES)
    row = await connection.fetchrow(
        f"SELECT coalesce(sum(recipients), 0)::bigint AS recipients, {sums} FROM range_counters WHERE campaign_id = $1",
        campaign_id,
    )
    assert row is not None
    counted = Counter({state: row[state] for state in STATES if row[state]})
    if pending := row["recipients"] - counted.total():
        counted["pending"] = pending
    return counted


async def recount(connection: Connection, campaign_id: int) -> Counter[str]:
    """The same, counted from the facts."""
    rows = await connection.fetch("SELECT state FROM recipient_states WHERE campaign_id = $1", campaign_id)
    return Counter(row["state"] for row in rows)


async def assert_range_counters_hold(connection: Connection) -> None:
    """Law: the range counters of every range equal a count over its recipients' states."""
    every_state = (*STATES, "pending")
    sums = ", ".join(
        f"count(*) FILTER (WHERE state = '{state}')::integer AS {state}" for state in every_state
    )
    recounted = await connection.fetch(
        f"SELECT range_id, {sums} FROM recipient_states GROUP BY range_id ORDER BY range_id"
    )
    stored = await connection.fetch(
        f"SELECT range_id, {', '.join(every_state)} FROM range_counters ORDER BY range_id"
    )
    assert [dict(row) for row in stored] == [dict(row) for row in recounted]


async def campaign_row(connection: Connection, campaign_id: int) -> tuple[str, str]:
    """State and reason."""
    row = await connection.fetchrow("SELECT state, reason FROM campaigns WHERE campaign_id = $1", campaign_id)
    assert row is not None
    return row["state"], row["reason"]
