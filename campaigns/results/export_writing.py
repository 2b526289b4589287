"""The writing of an export to an open file, for every face that makes a file of it."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import BinaryIO

from drumbeat.campaigns.campaign import Campaign
from drumbeat.campaigns.results.export import export_columns, export_values
from drumbeat.campaigns.results.export_files import ExportForm, Separator, writer_of
from drumbeat.campaigns.stored_recipients import ExportFilter, require_kept
from drumbeat.engine.store.database import Pool


async def write_export(
    pool: Pool,
    campaign: Campaign,
    file: BinaryIO,
    form: ExportForm,
    wanted: ExportFilter,
    *,
    separator: Separator = Separator.COMMA,
    is_marked: bool = True,
    writing: Callable[[], AbstractContextManager[None]] = nullcontext,
    in_thread: bool = False,
) -> int:
    """Write the recipients page by page, and return how many. `writing` is entered around each write, to name
    the file in its errors. `in_thread`: the loop of an application goes on meanwhile.

    Raise an error if a prune dropped some of them before the end: the file is not whole then.
    """

    async def do(write: Callable[[], None]) -> None:
        with writing():
            await (asyncio.to_thread(write) if in_thread else _here(write))

    await require_kept(pool, campaign.campaign_id, campaign.name)
    columns = await export_columns(pool, campaign.campaign_id)
    with writing():
        writer = writer_of(form, file, campaign.name, columns, separator=separator, is_marked=is_marked)
    rows = 0
    async for page in export_values(pool, campaign.campaign_id, wanted):
        await do(partial(writer.write, page))
        rows += len(page)
    await do(writer.close)
    await require_kept(pool, campaign.campaign_id, campaign.name)
    return rows


async def _here(write: Callable[[], None]) -> None:
    write()
