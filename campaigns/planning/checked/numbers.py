"""The numbers of a campaign."""

from drumbeat.campaigns.sql import statements
from drumbeat.engine.errors import ConfigurationError
from drumbeat.engine.sending.number_sync import DEFAULT_LIMIT_PER_S
from drumbeat.engine.store.database import Connection


async def limits_per_s_of(connection: Connection, numbers: list[str], database: str) -> list[float]:
    """Return the limits of these numbers, in any order. Raise ConfigurationError if one is not stored."""
    rows = await connection.fetch(statements("plan")["limits_of_numbers"], numbers, DEFAULT_LIMIT_PER_S)
    limits_per_s = {row["phone_number_id"]: row["limit_per_s"] for row in rows}
    missing = sorted(set(numbers) - limits_per_s.keys())
    if not missing:
        return list(limits_per_s.values())
    known = [row["phone_number_id"] for row in await connection.fetch(statements("plan")["all_numbers"])]
    hint = f"; known are {', '.join(known[:10])}" if known else ""
    raise ConfigurationError(
        f"unknown phone number ID {', '.join(missing)}{hint}",
        where=database,
        remedy="run `drumbeat numbers sync`",
        key="number",
    )
