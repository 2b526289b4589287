"""An audience from the recipients of another campaign, by what became of them."""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeAlias

from campaigns.audience.row_check import is_literal
from campaigns.audience.spool import Spool
from campaigns.audience.spreadsheet import is_variable_column, safe_cell, variable_column
from campaigns.life.control import find_campaign, require_planned
from campaigns.results.export import ExportFilter, export_records, require_kept
from engine.core.campaign_template import CampaignTemplate, frozen_templates
from engine.core.states import RecipientState
from engine.store.database import Connection
from engine.store.queries import queries

FORM = "campaign"
VARIABLES = "variables"  # key of the stored options: the column or `=text` of each variable
PHONE = "phone"
CellOf: TypeAlias = Callable[[Any], str]


@dataclass(frozen=True, slots=True)
class CampaignResult:
    """The recipients of a campaign in one state, failed with one of the codes; None, empty: in any.

    `once`: without those to whom another campaign already sends again.
    """

    name: str
    state: RecipientState | None = None
    codes: AbstractSet[int] = frozenset()
    once: bool = False


async def spool_campaign(connection: Connection, source: CampaignResult, spool: Spool) -> dict[str, str]:
    """Write the recipients to the spool, with the columns of their campaign: `phone`, one for each variable,
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
    wanted = ExportFilter(
        states=frozenset() if source.state is None else {source.state},
        codes=source.codes,
    )
    async for page in export_records(connection, campaign.campaign_id, wanted):
        left = await _not_retried(connection, page) if source.once else page
        spool.write_rows([_cells(record, columns) for record in left if record["phone"] > 0])
    return {"campaign": campaign.name, "read_at": read_at}


async def _not_retried(connection: Connection, page: Sequence[Any]) -> Sequence[Any]:
    if not page:
        return page
    rows = await connection.fetch(queries("retried")["already_retried"], page[0]["range_id"])
    retried = {row["seq"] for row in rows}
    return [record for record in page if record["seq"] not in retried]


def _columns(options: Mapping[str, Any], templates: Sequence[CampaignTemplate]) -> dict[str, CellOf]:
    """Each column, and its cell of a record. The phone stands under both names that it may have."""
    columns: dict[str, CellOf] = {PHONE: _phone, options["--phone-column"]: _phone}
    params = options.get(VARIABLES, options["--param"])  # earlier versions stored only --param
    for at, param in enumerate(params):
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
