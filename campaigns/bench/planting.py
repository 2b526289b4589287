"""A campaign that is ready to be sent, without a file: an empty schema, numbers, ranges, recipients."""

from __future__ import annotations

import random
from collections.abc import Mapping

from campaigns.bench.database import refuse_foreign
from campaigns.planning.range_size import range_size
from engine.store.database import Connection, connect
from engine.store.migrate import migrate
from engine.store.queries import queries

TEMPLATE = {
    "name": "order_shipped",
    "language": "en_US",
    "definition": {
        "components": [{"type": "BODY", "text": "Hi {{1}}, your order {{2}} is on its way."}],
        "parameter_format": "POSITIONAL",
    },
}
FIRST_PHONE = 5_511_900_000_000
PLANT_S_MAX = 600.0
_RANGES_AT_ONCE = 1_000  # a statement of at most a million recipients


async def plant(url: str, rates_per_s: Mapping[str, float], recipients: int) -> int:
    """Empty the database, then store these numbers and one running campaign; returns its id.

    Recipients follow FIRST_PHONE. Raises ConfigurationError for a database that no bench made.
    """
    sql = queries("bench")
    await clear(url)
    await migrate(url)
    connection = await connect(url, command_timeout_s=PLANT_S_MAX)
    try:
        await connection.execute(sql["create_partitions"])
        await connection.executemany(sql["insert_number"], list(rates_per_s.items()))
        campaign_id: int = await connection.fetchval(
            sql["insert_campaign"], TEMPLATE, list(rates_per_s), recipients
        )
        size = range_size(recipients, list(rates_per_s.values()))
        await _plant_ranges(connection, campaign_id, recipients, size)
        # As autovacuum leaves a plan within a minute; in the middle of a short run it would count as sending.
        await connection.execute("VACUUM (ANALYZE)")
        await connection.execute("CHECKPOINT")
    finally:
        await connection.close()
    return campaign_id


async def clear(url: str) -> None:
    """Empty the database, so that no vacuum of what was there takes time from what is measured next.

    Raises ConfigurationError for a database that no bench made.
    """
    connection = await connect(url, command_timeout_s=PLANT_S_MAX)
    try:
        await refuse_foreign(connection)
        await connection.execute(queries("bench")["empty"])
        await connection.execute("CHECKPOINT")
    finally:
        await connection.close()


async def _plant_ranges(connection: Connection, campaign_id: int, recipients: int, size: int) -> None:
    sql = queries("bench")
    first: int = await connection.fetchval(sql["first_range_id"])
    first += random.getrandbits(46)
    sizes = [min(size, recipients - done) for done in range(0, recipients, size)]
    ids = [first + ordinal for ordinal in range(len(sizes))]
    await connection.execute(sql["insert_ranges"], ids, sizes, campaign_id)
    await connection.execute(sql["insert_range_counters"], ids, sizes, campaign_id)
    for begin in range(0, len(ids), _RANGES_AT_ONCE):
        part = slice(begin, begin + _RANGES_AT_ONCE)
        await connection.execute(
            sql["insert_recipients"], ids[part], sizes[part], FIRST_PHONE + begin * size, size
        )
