"""What the service says of its numbers: for `numbers sync`, and when an event says that they changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from engine.store.database import Pool
from engine.store.queries import queries

if TYPE_CHECKING:  # who only asks for the default limit needs no client of the service
    from engine.api.resources import NumberRecord

DEFAULT_LIMIT_PER_S = 80.0  # the interface: "80 messages per second by default"
LIMIT_PER_S = {  # by throughput level: the interface, "Limits"
    "STANDARD": DEFAULT_LIMIT_PER_S,
    "HIGH": 1000.0,
}
# In the order of the statement's arguments.
_TEXTS = (
    "phone_number_id",
    "display_phone_number",
    "verified_name",
    "quality_rating",
    "messaging_limit_tier",
    "status",
    "throughput_level",
)


class NumbersSource(Protocol):
    """What lists the numbers of an account: `engine.api.resources.ManagementClient`."""

    async def phone_numbers(self, waba_id: str) -> list[NumberRecord]: ...


async def sync_numbers(pool: Pool, source: NumbersSource, waba_id: str) -> None:
    """Read the account's numbers from the service and store them; owners follow a new limit at once."""
    await store_numbers(pool, await source.phone_numbers(waba_id))


async def store_numbers(pool: Pool, records: Sequence[NumberRecord]) -> None:
    """Store what the service says; a limit set by a person, and everything about the owner, stay.

    Of a number that is listed twice the last word counts. Postgres knows no NUL in a text.
    """
    rows: dict[str, list[str]] = {}
    for record in records:
        texts = [getattr(record, name).replace("\x00", "") for name in _TEXTS]
        rows[texts[0]] = texts
    columns = [list(column) for column in zip(*rows.values(), strict=True)] or [[] for _ in _TEXTS]
    limits_per_s = [LIMIT_PER_S.get(level.upper()) for level in columns[-1]]
    await pool.execute(queries("numbers")["store"], *columns, limits_per_s)
