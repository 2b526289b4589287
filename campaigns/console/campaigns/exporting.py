"""The export of a campaign's recipients, in every form, in constant memory."""

from __future__ import annotations

import asyncio
import io
import tempfile
from collections.abc import Callable
from typing import BinaryIO

from aiohttp import web

from drumbeat.campaigns.actor import note_audit
from drumbeat.campaigns.campaign import Campaign
from drumbeat.campaigns.console.campaigns.named import named_campaign
from drumbeat.campaigns.console.campaigns.steering_shapes import ExportQuery, Matching
from drumbeat.campaigns.console.web.attachments import attachment
from drumbeat.campaigns.console.web.context import caller_of, console_of, wants_head
from drumbeat.campaigns.console.web.replying import query_of
from drumbeat.campaigns.results.export import export_columns, export_values
from drumbeat.campaigns.results.export_files import ExportForm, ExportWriter, writer_of
from drumbeat.campaigns.stored_recipients import require_kept

MEDIA_TYPES = {
    ExportForm.CSV: "text/csv; charset=utf-8",
    ExportForm.JSON_LINES: "application/jsonl",
    ExportForm.XLSX: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ExportForm.PARQUET: "application/vnd.apache.parquet",
}
# Their parts are sent as they are read. The others are files, which begin to be sent when all is written.
_STREAMED = (ExportForm.CSV, ExportForm.JSON_LINES)
CHUNK_BYTES = 1 << 18


async def export(request: web.Request) -> web.StreamResponse:
    """Send everybody who passes the filter, page by page, for programs."""
    campaign, asked = await named_campaign(request), query_of(request, ExportQuery)
    columns = await kept_columns(request, campaign)

    def write_to(file: BinaryIO) -> ExportWriter:
        return writer_of(asked.format, file, campaign.name, columns, separator=asked.separator)

    return await send_export(request, campaign, asked, write_to)


async def kept_columns(request: web.Request, campaign: Campaign) -> list[str]:
    """Return the columns of the export. ConfigurationError if the recipients were pruned."""
    pool = console_of(request).pool
    await require_kept(pool, campaign.campaign_id, campaign.name)
    return await export_columns(pool, campaign.campaign_id)


async def send_export(
    request: web.Request, campaign: Campaign, asked: ExportQuery, write_to: Callable[[BinaryIO], ExportWriter]
) -> web.StreamResponse:
    """Send the export. `write_to` makes the writer, which has already written the headings."""
    console, form = console_of(request), asked.format
    pool = console.pool
    filters = asked.model_dump(mode="json", exclude_defaults=True, include=set(Matching.model_fields))
    said = {name: ", ".join(map(str, values)) for name, values in filters.items()}
    response = web.StreamResponse(
        headers={
            "Content-Type": MEDIA_TYPES[form],
            "Content-Disposition": attachment(form.value, campaign.name, "recipients", zone=console.own.zone),
        }
    )
    if wants_head(request):
        return response
    await note_audit(pool, caller_of(request).name, "export", campaign.campaign_id, format=form.value, **said)
    with _file(form) as file:
        writer = await asyncio.to_thread(write_to, file)
        await response.prepare(request)
        async for page in export_values(pool, campaign.campaign_id, asked.wanted):
            await asyncio.to_thread(writer.write, page)
            if form in _STREAMED:
                await _send(response, file)
        await asyncio.to_thread(writer.close)
        await _send(response, file)
    return response


def _file(form: ExportForm) -> BinaryIO:
    return io.BytesIO() if form in _STREAMED else tempfile.TemporaryFile()


async def _send(response: web.StreamResponse, file: BinaryIO) -> None:
    """Send what the file holds, and empty it."""
    file.seek(0)
    while chunk := await asyncio.to_thread(file.read, CHUNK_BYTES):
        await response.write(chunk)
    file.seek(0)
    file.truncate()
