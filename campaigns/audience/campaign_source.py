"""An audience from the recipients of another campaign, by what became of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeAlias

from campaigns.audience.row_check import is_literal
from campaigns.audience.spool import Spool
from campaigns.audience.spreadsheet import is_variable_column, safe_cell, variable_column
from campaigns.life.control import find_campaign, require_planned
from campaigns.results.export import export_records, require_kept
from engine.core.campaign_template import CampaignTemplate, frozen_templates
from engine.core.states import RecipientState
from engine.store.database import Connection
from engine.store.queries import queries

FORM = "campaign"
PHONE = "phone"
CellOf: TypeAlias = Callable[[Any], str]


@dataclass(frozen=True, slots=True)
class CampaignResult:
    """The recipients of a campaign in one state, failed with one code; None: in any."""

    name: str
    state: RecipientState | None = None
    code: int | None = None


async def spool_campaign(connection: Connection, source: CampaignResult, spool: Spool) -> dict[str, str]:
    """Write the recipients to the spool, with the columns of their campaign: `phone`, one for each `--param`,
    and that of `--language-column`. Return what is noted with the new campaign.
    """
    campaign = await find_campaign(connection, source.name)
    require_planned(campaign)
    await require_kept(connection, campaign.campaign_id, source.name)
    read_at = datetime.now(UTC).isoformat(timespec="milliseconds")
    frozen = await connection.fetchrow(queries("plan")["frozen_campaign"], campaign.campaign_id)
    assert frozen is not None, "a campaign's row is never deleted once it is planned"
    columns = _columns(frozen["options"], frozen_templates(frozen["template"]))
    spool.form, spool.header = FORM, list(columns)
    async for page in export_records(connection, campaign.campaign_id, source.state):
        wanted = [record for record in page if source.code is None or record["code"] == source.code]
        spool.write_rows([_cells(record, columns) for record in wanted])
    return {"campaign": source.name, "read_at": read_at}


def _columns(options: Mapping[str, Any], templates: Sequence[CampaignTemplate]) -> dict[str, CellOf]:
    """Each column, and its cell of a record. The phone stands under both names that it may have."""
    columns: dict[str, CellOf] = {PHONE: _phone, options["--phone-column"]: _phone}
    for at, param in enumerate(options["--param"]):
        columns.setdefault(variable_column(at + 1) if is_literal(param) else param, partial(_variable, at))
    if (column := options.get("--language-column")) is not None:
        columns.setdefault(column, lambda record: templates[record["template_index"]].language)
    return columns


def _phone(record: Any) -> str:
    return str(record["phone"])


def _variable(at: int, record: Any) -> str:
    return str(record["variables"][at])


def _cells(record: Any, columns: Mapping[str, CellOf]) -> Sequence[str]:
    cells = [cell_of(record) for cell_of in columns.values()]
    return [
        safe_cell(cell) if is_variable_column(name) else cell
        for name, cell in zip(columns, cells, strict=True)
    ]
