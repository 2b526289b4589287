"""The plan of a campaign with one recipient, in the caller's transaction and over its connection.

The steps of `pipeline` read a list of any length: they open sessions, stage rows in temporary tables, and
compare them with all suppressed phones and recent campaigns, which takes a tenth of a second and more. One
row needs the same rules, and none of that.

Law: the campaign is committed with its recipient, or not at all, so that a kill leaves nothing behind.
"""

from __future__ import annotations

import io
import secrets
from dataclasses import replace
from pathlib import Path

from drumbeat.campaigns.audience.check.corrections import sha256_of as corrected_rows
from drumbeat.campaigns.audience.check.row_check import row_check
from drumbeat.campaigns.audience.check.staged_batch import encode_for_copy
from drumbeat.campaigns.audience.open.opening import OpenAudience
from drumbeat.campaigns.audience.open.reader import RowBatch
from drumbeat.campaigns.options.identity import identify
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.asked import Asked
from drumbeat.campaigns.planning.change import differs
from drumbeat.campaigns.planning.checked.step import check_options
from drumbeat.campaigns.planning.created import known_campaign
from drumbeat.campaigns.planning.cut.range_cut import COLUMNS
from drumbeat.campaigns.planning.cut.step import cut_ranges
from drumbeat.campaigns.planning.frozen.chunks import RANDOM_BITS
from drumbeat.campaigns.planning.frozen.step import campaign_columns, categories_of
from drumbeat.campaigns.planning.opened.step import Opened, Session, header_content
from drumbeat.campaigns.planning.removal import lock_names, planned_row
from drumbeat.campaigns.planning.staged.filling import fill
from drumbeat.campaigns.planning.staged.staging import StagedRows, once
from drumbeat.campaigns.planning.staged.step import NOT_READ, Staged
from drumbeat.campaigns.progress import no_progress
from drumbeat.campaigns.reject import REASONS
from drumbeat.campaigns.sql import statements
from drumbeat.engine.errors import UsageError
from drumbeat.engine.store.copying import copy_text
from drumbeat.engine.store.database import Connection

NAME = "recipient.csv"  # the name that the one row has in errors
HEADER = ("phone",)
LINE = 2  # of the row, below the header


async def plan_one(connection: Connection, spec: CampaignSpec, phone: int, first_range_id: int) -> None:
    """Store the campaign with its recipient. If it is stored already, change nothing.

    `first_range_id`: that of the day, whose partitions exist. Raise UsageError for a wrong option or value,
    ConfigurationError for a template or number that cannot be used and for a name that another campaign has,
    and TryLater while another process creates it.
    """
    opened = _opened(connection, replace(spec, read_from=Path(NAME), region=None), phone)
    asked = opened.asked
    await lock_names(connection, spec.name, spec.external_id, for_transaction=True)
    if (row := await planned_row(connection, asked.spec, dry_run=False)) is not None:
        known = known_campaign(row)
        if known.content_hash != asked.identity.content_hash:
            raise await differs(connection, known, asked.identity)
        return
    checked = await check_options(opened)
    filling = fill(asked.spec, checked.templates, HEADER)
    check = row_check(HEADER, NAME, filling.rules)
    batch = encode_for_copy(check.check(RowBatch(0, [LINE], [[f"+{phone}"]])))
    if batch.rejects:
        raise UsageError(f"the message cannot be sent: {REASONS[batch.rejects[0].code]}")
    rows = StagedRows()
    rows.add(batch)
    rows.end_chunk()
    staged = Staged(rows=rows, filling=filling, audience=NOT_READ, same_people=())
    cut = cut_ranges(opened, checked, staged)
    suppressed = await connection.fetchval(statements("plan")["is_suppressed"], phone)
    range_id = first_range_id + secrets.randbits(RANDOM_BITS)
    written = cut.of_chunk(lambda: range_id, [1], 0, [], [LINE] if suppressed else [])
    await _freeze(connection, opened, staged, range_id, written.recipients(batch.recipients))


def _opened(connection: Connection, spec: CampaignSpec, phone: int) -> Opened:
    source = OpenAudience(NAME, io.BytesIO(f"phone\n+{phone}\n".encode()))
    identity = identify(spec, source.sha256(), [], header_content(spec), corrected_rows(spec.corrections))
    return Opened(
        session=Session(url="", connection=connection, progress=no_progress),
        asked=Asked(spec=spec, guards=spec.checked_guards(), identity=identity),
        source=source,
        exclusions=(),
    )


async def _freeze(
    connection: Connection, opened: Opened, staged: Staged, range_id: int, recipient: bytes
) -> None:
    sql = statements("plan")
    columns = campaign_columns(opened, staged, await categories_of(connection, staged))
    row = await connection.fetchrow(sql["insert_campaign"], *columns)
    assert row is not None
    campaign_id: int = row["campaign_id"]
    await connection.execute(statements("guards")["set_guards"], campaign_id, *opened.asked.guards.columns())

    await copy_text(connection, "recipients", once(recipient), COLUMNS)
    await connection.fetchrow(sql["freeze_ranges"], campaign_id, [range_id], 0, [])
    await connection.execute(sql["finish_plan"], campaign_id, 1, 0, 0, 1)
