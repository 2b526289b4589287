"""The account's numbers, read from the service: for `numbers sync`, and when an event reports a change."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Protocol

from drumbeat.engine.core.limits.tier import known_word
from drumbeat.engine.store.database import Pool
from drumbeat.engine.store.queries import queries

if TYPE_CHECKING:  # importers of the default limit need no client of the service
    from drumbeat.engine.api.endpoints.numbers import NumberRecord

DEFAULT_LIMIT_PER_S = 80.0  # the interface: "80 messages per second by default"
LIMIT_PER_S = {  # by throughput level: the interface, "Limits"
    "STANDARD": DEFAULT_LIMIT_PER_S,
    "HIGH": 1000.0,
}
# The texts of a number, in the order of the statement's arguments.
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
    """A list of the numbers of an account, as `engine.api.Service.numbers` gives it."""

    def list(self, waba_id: str) -> AsyncIterator[NumberRecord]: ...


async def sync_numbers(pool: Pool, source: NumbersSource, waba_id: str) -> None:
    """Read the account's numbers from the service and store them. Their owners follow a new limit at once."""
    await store_numbers(pool, [record async for record in source.list(waba_id)])


async def store_numbers(pool: Pool, records: Sequence[NumberRecord]) -> None:
    """Store the numbers as the service lists them. A limit set by a person, and everything about the owner,
    stay.

    `records` are all numbers of the account: a stored number that is not among them is marked as unlisted. If
    a number is listed twice, the last entry counts. Postgres stores no NUL in a text, so NULs are removed.
    """
    rows: dict[str, list[str]] = {}
    for record in records:
        texts = [getattr(record, name).replace("\x00", "") for name in _TEXTS]
        rows[texts[0]] = texts
    columns = [list(column) for column in zip(*rows.values(), strict=True)] or [[] for _ in _TEXTS]
    limits_per_s = [LIMIT_PER_S.get(level.upper()) for level in columns[-1]]
    known_tiers = [known_word(word) for word in columns[_TEXTS.index("messaging_limit_tier")]]
    await pool.execute(queries("numbers")["store"], *columns, limits_per_s, known_tiers)
    await pool.execute(queries("numbers")["mark_unlisted"], columns[0])
