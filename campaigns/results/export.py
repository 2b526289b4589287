"""Every recipient of a campaign with its fate, as CSV rows, in constant memory.

Law: a cell never starts a formula in a spreadsheet. Texts of recipients and of the service reach these cells,
and `=HYPERLINK(…)` in a name must stay a name.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any

from campaigns.audience.spreadsheet import safe_cell, variable_column
from campaigns.command_text import command
from campaigns.describe_database import place
from campaigns.results.report import meaning_of
from engine.core.states import RecipientState
from engine.errors import ConfigurationError
from engine.store.database import Pool
from engine.store.queries import queries

COLUMNS = (
    "phone", "state", "code", "reason", "line", "wamid", "phone_number_id",
    "attempted_at", "sent_at", "delivered_at", "read_at", "failed_at",
)  # fmt: skip
_REASON = COLUMNS.index("reason")


def headings(variables: int) -> list[str]:
    """The first row: the columns, then one for each of the template's variables."""
    return [*COLUMNS, *map(variable_column, range(1, variables + 1))]


async def export_rows(
    pool: Pool, campaign_id: int, state: RecipientState | None = None
) -> AsyncIterator[list[list[str]]]:
    """Pages of rows in the order of the audience file, all recipients or those in one state.

    `phone` is in digits without a plus, `code` the service's error of who failed, `reason` its meaning where
    the service told none; times are ISO 8601 in UTC.
    Each page is read by itself, so that an export of hours holds no snapshot: recipients that change
    meanwhile show their state at that moment.
    """
    wanted = None if state is None else state.value
    ordinal = -1
    while ranges := await pool.fetch(queries("report")["export_ranges"], campaign_id, ordinal):
        for row in ranges:
            page = await pool.fetch(queries("report")["export_page"], row["range_id"], wanted)
            yield [_cells(record) for record in page]
        ordinal = ranges[-1]["ordinal"]


async def require_kept(pool: Pool, campaign_id: int, name: str) -> None:
    """ConfigurationError where the recipients of a planned campaign were pruned, which leaves its counts."""
    if not await pool.fetchval(queries("report")["has_ranges"], campaign_id):
        raise ConfigurationError(
            f'the recipients of "{name}" are gone: the month of its planning was pruned',
            where=await place(pool),
            remedy=f"its counts are kept: {command('campaign', 'report', name)}",
        )


async def count_variables(pool: Pool, campaign_id: int) -> int:
    """How many variables each recipient of a campaign has; 0 where it has no recipients."""
    return int(await pool.fetchval(queries("report")["variables"], campaign_id) or 0)


def _cells(record: Any) -> list[str]:
    values: list[Any] = [record[column] for column in COLUMNS]
    if record["state"] == RecipientState.FAILED and record["reason"] is not None:
        values[_REASON] = meaning_of(record["reason"]) or record["reason"]
    return [safe_cell(_text(value)) for value in (*values, *record["variables"])]


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value.isoformat(timespec="milliseconds") if isinstance(value, datetime) else str(value)
