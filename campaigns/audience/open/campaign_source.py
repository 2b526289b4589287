"""An audience from the recipients of another campaign, by what became of them."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeAlias

from drumbeat.campaigns.audience.open.spool import Spool
from drumbeat.campaigns.campaign import find_campaign, require_planned
from drumbeat.campaigns.options.param_texts import is_literal
from drumbeat.campaigns.options.sources import CampaignResult
from drumbeat.campaigns.options.spec import PHONE
from drumbeat.campaigns.options.stored_variables import variables_of
from drumbeat.campaigns.output.spreadsheet import is_variable_column, safe_cell, variable_column
from drumbeat.campaigns.sql import statements
from drumbeat.campaigns.stored_recipients import ExportFilter, export_records, require_kept
from drumbeat.engine.core.template.campaign_template import CampaignTemplate, frozen_templates
from drumbeat.engine.store.database import Connection

FORM = "campaign"
CellOf: TypeAlias = Callable[[Any], str]


async def spool_campaign(connection: Connection, source: CampaignResult, spool: Spool) -> dict[str, str]:
    """Write the recipients to the spool: the stored phone, then the columns of their campaign, one for each
    variable and that of `language_column`. Return what is noted with the new campaign.
    """
    campaign = await find_campaign(connection, source.name)
    require_planned(campaign)
    await require_kept(connection, campaign.campaign_id, source.name)
    read_at = datetime.now(UTC).isoformat(timespec="milliseconds")
    frozen = await connection.fetchrow(statements("plan")["frozen_campaign"], campaign.campaign_id)
    assert frozen is not None, "a campaign's row is never deleted once it is planned"
    columns = _columns(frozen["options"], frozen_templates(frozen["template"]))
    spool.form, spool.header = FORM, ["" if PHONE in columns else PHONE, *columns]
    wanted = ExportFilter(
        states=frozenset() if source.state is None else {source.state},
        codes=source.codes,
    )
    async for page in export_records(connection, campaign.campaign_id, wanted):
        left = await _not_retried(connection, page) if source.once else page
        left = [record for record in left if record["phone"] > 0]
        spool.left_out.update(record["code"] for record in left if record["code"] in source.without)
        spool.write_rows([_cells(record, columns) for record in left if record["code"] not in source.without])
    return {"campaign": campaign.name, "read_at": read_at}


async def _not_retried(connection: Connection, page: Sequence[Any]) -> Sequence[Any]:
    if not page:
        return page
    rows = await connection.fetch(statements("retried")["already_retried"], page[0]["range_id"])
    retried = {row["seq"] for row in rows}
    return [record for record in page if record["seq"] not in retried]


def _columns(options: Mapping[str, Any], templates: Sequence[CampaignTemplate]) -> dict[str, CellOf]:
    """Return each column after the stored phone, and its cell of a record. The phone also stands under the
    name that it had in the audience, unless a variable has that name: then the cell is what was sent.
    """
    columns: dict[str, CellOf] = {}
    for at, param in enumerate(variables_of(options)):
        columns.setdefault(variable_column(at + 1) if is_literal(param) else param, partial(_variable, at))
    if (phone_column := options.get("phone_column", PHONE)) != PHONE and phone_column not in columns:
        columns = {phone_column: _phone, **columns}
    if (column := options.get("language_column")) is not None:
        columns.setdefault(column, lambda record: templates[record["template_index"]].language)
    return columns


def _phone(record: Any) -> str:
    return str(record["phone"])


def _variable(at: int, record: Any) -> str:
    return str(record["variables"][at])


def _cells(record: Any, columns: Mapping[str, CellOf]) -> Sequence[str]:
    cells = [
        safe_cell(cell_of(record)) if is_variable_column(name) else cell_of(record)
        for name, cell_of in columns.items()
    ]
    return [_phone(record), *cells]
