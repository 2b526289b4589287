"""The opening of a campaign's audience, wherever it comes from."""

import asyncio
from contextlib import ExitStack
from pathlib import Path

from drumbeat.campaigns.audience.open.campaign_source import spool_campaign
from drumbeat.campaigns.audience.open.given_rows import spool_given
from drumbeat.campaigns.audience.open.opening import OpenAudience, open_table
from drumbeat.campaigns.audience.open.spool import Spool
from drumbeat.campaigns.audience.open.sql_source import spool_query
from drumbeat.campaigns.options.sources import CampaignResult, GivenRows, SqlQuery
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.opened.ready_file import require_ready_file
from drumbeat.campaigns.progress import STATEMENT_TIMEOUT_S
from drumbeat.engine.store.database import close, connect


async def open_source(url: str, spec: CampaignSpec, unchanged_for_s: int, files: ExitStack) -> OpenAudience:
    """Return the open audience. `files` closes what it needs. `url` is that of Drumbeat's database. A file
    must be older than `unchanged_for_s`.

    Rows that are not in a file are all read here, so that no transaction stays open while they are planned.
    """
    if isinstance(spec.source, Path):
        # Reading a workbook takes seconds; the loop must notice a signal meanwhile.
        await asyncio.to_thread(require_ready_file, spec.source, unchanged_for_s, spec.format)
        return await asyncio.to_thread(files.enter_context, open_table(spec.source, spec.reading))
    spool = files.enter_context(Spool(spec.audience_name))
    noted = await _filled(url, spec.source, spool)
    return OpenAudience(spool.name, spool, noted=noted)


async def _filled(url: str, audience: SqlQuery | CampaignResult | GivenRows, spool: Spool) -> dict[str, str]:
    if isinstance(audience, SqlQuery):
        return await spool_query(audience, spool)
    if isinstance(audience, GivenRows):
        await asyncio.to_thread(spool_given, audience, spool)
        return {}
    connection = await connect(url, command_timeout_s=STATEMENT_TIMEOUT_S)
    try:
        return await spool_campaign(connection, audience, spool)
    finally:
        await close(connection)
