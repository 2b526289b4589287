"""Every recipient of a campaign with state, reason and times, as CSV rows, in constant memory.

Law: no cell starts a formula in a spreadsheet. The cells hold texts of recipients and of the service, and
`=HYPERLINK(…)` in a name must stay a name.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any

import asyncpg

from campaigns.audience.spreadsheet import safe_cell, variable_column
from campaigns.command_text import command_text
from campaigns.describe_database import describe_database
from campaigns.template_shares import TemplateShare, shares_in
from engine.core.error_codes import meaning_of
from engine.core.states import RecipientState
from engine.errors import ConfigurationError
from engine.store.database import Connection, Pool
from engine.store.queries import queries

COLUMNS = (
    "phone", "state", "code", "reason", "line", "wamid", "phone_number_id",
    "attempted_at", "sent_at", "delivered_at", "read_at", "failed_at", "language", "variant",
)  # fmt: skip
_OF_TEMPLATE = ("language", "variant")  # columns of the recipient's template
_REASON = COLUMNS.index("reason")


def headings(variables: int) -> list[str]:
    """The first row: the columns, then a column for each variable of the template."""
    return [*COLUMNS, *map(variable_column, range(1, variables + 1))]


async def export_rows(
    pool: Pool | Connection, campaign_id: int, state: RecipientState | None = None
) -> AsyncIterator[list[list[str]]]:
    """Pages of rows in the order of the audience file: all recipients, or those in one state.

    `phone` has no plus, `code` is the service's error code of a failed recipient, `reason` its meaning if the
    service gave no text; times are ISO 8601 in UTC. Each page is read alone, so that a long export holds no
    snapshot: a recipient that changes meanwhile has its state at the moment of reading.
    """
    templates = shares_in(await pool.fetchval(queries("report")["templates"], campaign_id))
    async for page in export_records(pool, campaign_id, state):
        yield [_cells(record, templates[record["template_index"]]) for record in page]


async def export_records(
    pool: Pool | Connection, campaign_id: int, state: RecipientState | None
) -> AsyncIterator[list[asyncpg.Record]]:
    """The same as they are stored."""
    wanted = None if state is None else state.value
    ordinal = -1
    while ranges := await pool.fetch(queries("report")["export_ranges"], campaign_id, ordinal):
        for row in ranges:
            yield await pool.fetch(queries("report")["export_page"], row["range_id"], wanted)
        ordinal = ranges[-1]["ordinal"]


async def require_kept(pool: Pool | Connection, campaign_id: int, name: str) -> None:
    """ConfigurationError if the recipients of a planned campaign were pruned."""
    if not await pool.fetchval(queries("report")["has_ranges"], campaign_id):
        raise ConfigurationError(
            f'the recipients of "{name}" were dropped by `db prune`',
            where=await describe_database(pool),
            remedy=f"its counts are kept: `{command_text('campaign', 'report', name)}`",
        )


async def count_variables(pool: Pool, campaign_id: int) -> int:
    """How many variables each recipient of a campaign has; 0 if it has no recipients."""
    return int(await pool.fetchval(queries("report")["variables"], campaign_id) or 0)


def _cells(record: Any, template: TemplateShare) -> list[str]:
    values: list[Any] = [
        getattr(template, column) if column in _OF_TEMPLATE else record[column] for column in COLUMNS
    ]
    if record["state"] == RecipientState.FAILED and record["reason"] is not None:
        values[_REASON] = meaning_of(record["reason"]) or record["reason"]
    return [safe_cell(_text(value)) for value in (*values, *record["variables"])]


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value.isoformat(timespec="milliseconds") if isinstance(value, datetime) else str(value)
