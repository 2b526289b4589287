"""The filling of an empty schema with numbers and a planned campaign, without an audience file."""

from __future__ import annotations

import random
from collections.abc import Mapping
from contextlib import suppress

import asyncpg

from drumbeat.benchmarks.harness.database import check_is_temporary
from drumbeat.benchmarks.harness.statements import SQL
from drumbeat.campaigns.planning.cut.range_size import range_size
from drumbeat.campaigns.sql import statements
from drumbeat.engine.store.database import Connection, connect
from drumbeat.engine.store.migrate import migrate

TEMPLATE = {
    "name": "order_shipped",
    "language": "en_US",
    "definition": {
        "components": [{"type": "BODY", "text": "Hi {{1}}, your order {{2}} is on its way."}],
        "parameter_format": "POSITIONAL",
    },
}
NAME = "bench"
FIRST_PHONE = 5_511_900_000_000
SEED_S_MAX = 600.0
_RANGES_PER_STATEMENT = 1_000  # at most a million recipients


_GUARDS = ("guard_campaign", "guard_ranges", "insert_earlier_ranges")
_EARLIER = ("insert_earlier_recipients", "insert_earlier_outcomes")


async def seed_campaign(
    url: str, rates_per_s: Mapping[str, float], recipients: int, *, guards: bool = False
) -> int:
    """Clear the database, then store these numbers and one running campaign; return its id.

    Phones count up from FIRST_PHONE. ConfigurationError unless a benchmark created the database. `guards`:
    the campaign has quiet hours in the recipients' zone and a frequency cap, and another campaign sent to the
    same people before.
    """
    await clear_database(url)
    await migrate(url)
    connection = await connect(url, command_timeout_s=SEED_S_MAX)
    try:
        await connection.execute(SQL["create_partitions"])
        await connection.executemany(SQL["insert_number"], list(rates_per_s.items()))
        campaign_id = await plan_campaign(connection, NAME, rates_per_s, recipients)
        if guards:
            await _seed_guards(connection, campaign_id)
        # Autovacuum would do this within a minute; in a short run its cost would count as sending.
        await connection.execute("VACUUM (ANALYZE)")
        await _checkpoint(connection)
    finally:
        await connection.close()
    return campaign_id


async def _seed_guards(connection: Connection, campaign_id: int) -> None:
    for name in _GUARDS:
        await connection.execute(SQL[name], campaign_id)
    for name in _EARLIER:
        await connection.execute(SQL[name])
    await connection.execute(statements("guards")["index_phones"])


async def _checkpoint(connection: Connection) -> None:
    """Write what waits, so that it does not count as a measurement's. A role of a user's server may not."""
    with suppress(asyncpg.InsufficientPrivilegeError):
        await connection.execute("CHECKPOINT")


async def clear_database(url: str) -> None:
    """Drop the whole schema, so that no vacuum of old rows slows the next measurement.

    ConfigurationError unless a benchmark created the database.
    """
    connection = await connect(url, command_timeout_s=SEED_S_MAX)
    try:
        await check_is_temporary(connection)
        await connection.execute(SQL["drop_schema"])
        await _checkpoint(connection)
    finally:
        await connection.close()


async def plan_campaign(
    connection: Connection, name: str, rates_per_s: Mapping[str, float], recipients: int
) -> int:
    """Store a running campaign through these numbers, none of it sent, and return its id."""
    campaign_id: int = await connection.fetchval(
        SQL["insert_campaign"], TEMPLATE, list(rates_per_s), recipients, name
    )
    size = range_size(recipients, list(rates_per_s.values()))
    first: int = await connection.fetchval(SQL["first_range_id"])
    first += random.getrandbits(46)
    sizes = [min(size, recipients - done) for done in range(0, recipients, size)]
    ids = [first + ordinal for ordinal in range(len(sizes))]
    await connection.execute(SQL["insert_ranges"], ids, sizes, campaign_id)
    await connection.execute(SQL["insert_range_counters"], ids, sizes, campaign_id)
    for begin in range(0, len(ids), _RANGES_PER_STATEMENT):
        part = slice(begin, begin + _RANGES_PER_STATEMENT)
        await connection.execute(
            SQL["insert_recipients"], ids[part], sizes[part], FIRST_PHONE, size, begin * size
        )
    return campaign_id
