"""An audience from the recipients of another campaign, by what became of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from campaigns.audience.row_check import is_literal
from campaigns.audience.spool import Spool
from campaigns.audience.spreadsheet import is_variable_column, safe_cell, variable_column
from campaigns.life.control import find_campaign, require_planned
from campaigns.results.export import export_records, require_kept
from engine.core.states import RecipientState
from engine.store.database import Connection
from engine.store.queries import queries

FORM = "campaign"
VARIABLES = "variables"  # key of the stored options: the column or `=text` of each variable
PHONE = "phone"


@dataclass(frozen=True, slots=True)
class CampaignResult:
    """The recipients of a campaign in one state, failed with one code; None: in any."""

    name: str
    state: RecipientState | None = None
    code: int | None = None


async def spool_campaign(connection: Connection, source: CampaignResult, spool: Spool) -> dict[str, str]:
    """Write the recipients to the spool, with the columns of their campaign: `phone` and one for each
    variable. Return what is noted with the new campaign.
    """
    campaign = await find_campaign(connection, source.name)
    require_planned(campaign)
    await require_kept(connection, campaign.campaign_id, source.name)
    read_at = datetime.now(UTC).isoformat(timespec="milliseconds")
    options = await connection.fetchval(queries("plan")["options_of_campaign"], campaign.campaign_id)
    columns = _columns(options)
    spool.form, spool.header = FORM, list(columns)
    async for page in export_records(connection, campaign.campaign_id, source.state):
        wanted = [record for record in page if source.code is None or record["code"] == source.code]
        spool.write_rows([_cells(record, columns) for record in wanted])
    return {"campaign": source.name, "read_at": read_at}


def _columns(options: Mapping[str, Any]) -> dict[str, int | None]:
    """Each column, and the index of its variable; None for the phone, under both names that it may have."""
    columns: dict[str, int | None] = {PHONE: None, options["--phone-column"]: None}
    for at, param in enumerate(options.get(VARIABLES, options["--param"])):  # earlier versions had no other
        columns.setdefault(variable_column(at + 1) if is_literal(param) else param, at)
    return columns


def _cells(record: Any, columns: Mapping[str, int | None]) -> Sequence[str]:
    cells = [str(record["phone"]) if at is None else record["variables"][at] for at in columns.values()]
    return [
        safe_cell(cell) if is_variable_column(name) else cell
        for name, cell in zip(columns, cells, strict=True)
    ]
