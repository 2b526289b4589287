"""The filling of a database with a large campaign, partly sent, and with the other data of an account after
some years.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.resources import files

from drumbeat.benchmarks.harness.database import Database
from drumbeat.benchmarks.harness.machine import on_every_core
from drumbeat.benchmarks.harness.seeding import NAME, SEED_S_MAX, TEMPLATE, clear_database, plan_campaign
from drumbeat.benchmarks.harness.statements import SQL as HARNESS
from drumbeat.engine.store.database import Connection, connect
from drumbeat.engine.store.migrate import migrate
from drumbeat.engine.store.queries import named_statements

SQL = named_statements((files("drumbeat.benchmarks.viewing") / "seed.sql").read_text("utf-8"), "seed.sql")
SMALL = "small"  # beside the large campaign: the times of its views show the cost of size
SMALL_RECIPIENTS = 10_000
SENT_SHARE = 0.5
SESSIONS = 2
# The counts of an account that has been used for some years.
CAMPAIGNS, TEMPLATES, SUPPRESSIONS, AUDITS, REPLIES_OF_RANGES = 300, 100, 200_000, 20_000, 1_000
_RANGES_PER_STATEMENT = 100
_RATE_PER_S = 1_000.0


@dataclass(frozen=True, slots=True)
class Planted:
    """A campaign, and a person in the middle of those whom it reached."""

    name: str
    campaign_id: int
    recipients: int
    phone: int
    row: int
    ordinal: int

    def examples(self, reference: str) -> dict[str, str]:
        """Return the values that the addresses of views name: see `views`. `reference`: the reference of an
        upload.
        """
        return {
            "campaigns": self.name,
            "templates": str(TEMPLATE["name"]),
            "people": str(self.phone),
            "ask": "cancel",
            "new": reference,
            "phone": str(self.phone),
            "row": str(self.row),
            "after": f"{self.ordinal}.1",
        }


async def seed_console(database: Database, numbers: Sequence[str], recipients: int) -> list[Planted]:
    """Clear the database and fill it. ConfigurationError unless a benchmark created it."""
    await clear_database(database.url)
    await migrate(database.url)
    with on_every_core(database.pid):
        return await fill(database.url, numbers, recipients)


async def fill(url: str, numbers: Sequence[str], recipients: int) -> list[Planted]:
    """Fill an empty schema; return the large campaign, of so many recipients, and the small one."""
    connection = await connect(url, command_timeout_s=SEED_S_MAX)
    rates_per_s = dict.fromkeys(numbers, _RATE_PER_S)
    try:
        await connection.execute(HARNESS["create_partitions"])
        await connection.executemany(HARNESS["insert_number"], list(rates_per_s.items()))
        planted = []
        for name, planned in ((NAME, recipients), (SMALL, SMALL_RECIPIENTS)):
            campaign_id = await plan_campaign(connection, name, rates_per_s, planned)
            await _send_part(url, connection, campaign_id, planned, numbers)
            row = await connection.fetchrow(SQL["reached"], campaign_id)
            assert row is not None, "a part of it is sent"
            planted.append(Planted(name, campaign_id, planned, **dict(row)))
        await _seed_account(connection, planted[0].campaign_id, numbers)
        await connection.execute(SQL["clean"])
        await connection.execute("CHECKPOINT")
    finally:
        await connection.close()
    return planted


async def _send_part(
    url: str, connection: Connection, campaign_id: int, recipients: int, numbers: Sequence[str]
) -> None:
    """Record the first part of the ranges as sent, in a few sessions at once."""
    began = datetime.now(UTC) - timedelta(hours=2)
    ranges = await connection.fetchval(SQL["ranges"], campaign_id)
    rows = await connection.fetch(SQL["ranges_of"], campaign_id, int(ranges * SENT_SHARE))
    ids = [row["range_id"] for row in rows]
    parts = [ids[at : at + _RANGES_PER_STATEMENT] for at in range(0, len(ids), _RANGES_PER_STATEMENT)]
    await asyncio.gather(
        *(_send_ranges(url, parts[turn::SESSIONS], numbers, began) for turn in range(SESSIONS))
    )
    await connection.execute(SQL["insert_replies"], ids[:REPLIES_OF_RANGES])
    await connection.execute(
        SQL["count_attempts"], campaign_id, list(numbers), int(recipients * SENT_SHARE / len(numbers))
    )
    await connection.execute(SQL["begin_campaign"], campaign_id, began)


async def _send_ranges(url: str, parts: list[list[int]], numbers: Sequence[str], began: datetime) -> None:
    connection = await connect(url, command_timeout_s=SEED_S_MAX)
    try:
        await connection.execute("SET synchronous_commit = off")
        for part in parts:
            await connection.execute(SQL["finish_ranges"], part)
            await connection.execute(SQL["insert_claims"], part, list(numbers))
            await connection.execute(SQL["insert_outcomes"], part, list(numbers), began)
            await connection.execute(SQL["insert_doubts"], part, list(numbers))
            await connection.execute(SQL["count_outcomes"], part)
    finally:
        await connection.close()


async def _seed_account(connection: Connection, campaign_id: int, numbers: Sequence[str]) -> None:
    await connection.execute(SQL["number_epochs"])
    await connection.execute(SQL["insert_event_flow"], list(numbers))
    await connection.execute(SQL["insert_other_campaigns"], CAMPAIGNS, TEMPLATE, list(numbers))
    await connection.execute(SQL["insert_templates"], TEMPLATES, TEMPLATE["definition"])
    await connection.execute(SQL["insert_suppressions"], SUPPRESSIONS)
    await connection.execute(SQL["insert_audits"], AUDITS, campaign_id)
