"""Every recipient of a campaign with state, reason and times, in constant memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Any

import asyncpg

from drumbeat.campaigns.options.param_texts import is_literal
from drumbeat.campaigns.options.stored_variables import shown_variables, variables_of
from drumbeat.campaigns.output.spreadsheet import EXPORT_COLUMNS, safe_cell, variable_column
from drumbeat.campaigns.phones.phone_text import is_phone, phone_text
from drumbeat.campaigns.sql import statements
from drumbeat.campaigns.stored_recipients import EVERYBODY, ExportFilter, export_records
from drumbeat.campaigns.template_shares import TemplateShare, shares_in
from drumbeat.engine.core.error_codes import meaning_of
from drumbeat.engine.core.states import RecipientState
from drumbeat.engine.store.database import Connection, Pool

COLUMNS = EXPORT_COLUMNS


async def export_columns(pool: Pool, campaign_id: int) -> list[str]:
    """Return the names of all columns: the fixed ones, then one for each variable of the template."""
    options = (await _frozen(pool, campaign_id))["options"]
    variables = int(await pool.fetchval(statements("report")["variables"], campaign_id) or 0)
    return [*COLUMNS, *variable_columns(variables_of(options), variables)]


async def _frozen(pool: Pool | Connection, campaign_id: int) -> asyncpg.Record:
    frozen = await pool.fetchrow(statements("plan")["frozen_campaign"], campaign_id)
    assert frozen is not None, "a campaign's row is never deleted once it is planned"
    return frozen


def variable_columns(params: Sequence[str], variables: int) -> list[str]:
    """Return a name for each variable. `params` has the column or `=text` of each.

    The name is that of the audience's column. It is `variable_1` and so on for a fixed text, and for a name
    that another column of the export has.
    """
    names: list[str] = []
    for at in range(variables):
        name = params[at] if at < len(params) else "="
        taken = is_literal(name) or name in COLUMNS or name in names
        names.append(variable_column(at + 1) if taken else name)
    return names


async def export_rows(
    pool: Pool | Connection, campaign_id: int, wanted: ExportFilter = EVERYBODY
) -> AsyncIterator[list[list[str]]]:
    """Give pages of rows for spreadsheets, as `export_values` has them. No cell starts a formula."""
    async for page in export_values(pool, campaign_id, wanted):
        yield [list(map(cell_text, row)) for row in page]


async def export_values(
    pool: Pool | Connection, campaign_id: int, wanted: ExportFilter = EVERYBODY
) -> AsyncIterator[list[list[Any]]]:
    """Give pages of rows, in the order of the audience file, with a value for each column.

    `phone` has a plus, so that a reader needs no country to read it. `code` is the service's error code of a
    failed recipient, `reason` is the meaning of the code, and `detail` is the text of the service. Each page
    is read alone, so that a long export holds no snapshot: a recipient that changes meanwhile has its state
    at the moment of reading.
    """
    options = (await _frozen(pool, campaign_id))["options"]
    async for page in matching_records(pool, campaign_id, wanted):
        yield [
            [*_values(record, template), *shown_variables(options, record["variables"])]
            for record, template in page
        ]


async def matching_records(
    pool: Pool | Connection, campaign_id: int, wanted: ExportFilter
) -> AsyncIterator[list[tuple[asyncpg.Record, TemplateShare]]]:
    """Give pages of all who pass the filter. Each is as stored, with the recipient's template."""
    templates = shares_in(await pool.fetchval(statements("report")["templates"], campaign_id))
    async for page in export_records(pool, campaign_id, wanted):
        admitted = [(record, templates[record["template_index"]]) for record in page]
        yield [each for each in admitted if wanted.admits_template(each[1])]


def failure_texts(code: int | None, reason: str | None) -> tuple[str | None, str | None]:
    """Return what is shown of a failure: the meaning of its code, and the service's own text if that says
    more.

    A refusal is stored with its code as the reason, a failed status with a text of the service. Both mean the
    same, so both are shown with the meaning of the code.
    """
    stored = reason or ""
    meaning = meaning_of(stored if code is None else str(code))
    detail = None if stored in ("", str(code)) or meaning_of(stored) else stored
    return meaning or reason, detail if meaning else None


def _values(record: asyncpg.Record, template: TemplateShare) -> list[Any]:
    reason, detail = record["reason"], None
    if record["state"] == RecipientState.FAILED:
        reason, detail = failure_texts(record["code"], reason)
    shown = {
        **dict(record),
        "phone": phone_text(record["phone"]),
        "reason": reason,
        "detail": detail,
        "language": template.language,
        "variant": template.variant,
    }
    return [shown[column] for column in COLUMNS]


def cell_text(value: Any) -> str:
    """Return the value as the text of a cell that no spreadsheet runs. Times are ISO 8601 in UTC."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds")
    text = str(value)
    return text if is_phone(text) else safe_cell(text)
