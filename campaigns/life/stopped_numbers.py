"""The numbers of a campaign that the service stopped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from drumbeat.campaigns.command_text import command_text
from drumbeat.campaigns.sql import statements
from drumbeat.engine.errors import TryLater
from drumbeat.engine.store.database import Connection


@dataclass(frozen=True, slots=True)
class StoppedNumber:
    """A number that the service stopped, and why."""

    phone_number_id: str
    reason: str


async def stopped_numbers(
    connection: Connection, phone_number_ids: Sequence[str]
) -> tuple[StoppedNumber, ...]:
    """Read which of these numbers are stopped."""
    rows = await connection.fetch(statements("numbers")["stopped"], phone_number_ids)
    return tuple(StoppedNumber(**dict(row)) for row in rows)


async def require_sending_number(connection: Connection, name: str, phone_number_ids: Sequence[str]) -> None:
    """Raise TryLater if all numbers of the campaign `name` are stopped."""
    stopped = await stopped_numbers(connection, phone_number_ids)
    if len(stopped) < len(set(phone_number_ids)):
        return
    first = stopped[0]
    resume_it = command_text("numbers", "resume", first.phone_number_id)
    raise TryLater(
        f'every number of the campaign "{name}" is stopped: {first.phone_number_id}: {first.reason}',
        remedy=f"when it may send again, use `{resume_it}`, then repeat the command",
    )
