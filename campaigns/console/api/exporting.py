"""The export of a campaign's recipients, in every form, in constant memory."""

from __future__ import annotations

import asyncio
import io
import tempfile
from typing import BinaryIO

from aiohttp import web

from campaigns.console.api.campaigns import named_campaign
from campaigns.console.api.replying import query_of
from campaigns.console.api.steering_shapes import ExportQuery
from campaigns.console.context import caller_of, console_of
from campaigns.results.audit_pages import note_audit
from campaigns.results.export import export_columns, export_values, require_kept
from campaigns.results.export_files import ExportForm, writer_of

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
    """Everybody who passes the filter, page by page."""
    campaign, asked = await named_campaign(request), query_of(request, ExportQuery)
    pool, form = console_of(request).pool, asked.format
    await require_kept(pool, campaign.campaign_id, campaign.name)
    columns = await export_columns(pool, campaign.campaign_id)
    filters = asked.model_dump(mode="json", exclude_defaults=True, exclude={"format"})
    said = {name: ", ".join(map(str, values)) for name, values in filters.items()}
    await note_audit(pool, caller_of(request).name, "export", campaign.campaign_id, format=form.value, **said)
    response = web.StreamResponse(
        headers={
            "Content-Type": MEDIA_TYPES[form],
            "Content-Disposition": f'attachment; filename="recipients.{form.value}"',
        }
    )
    with _file(form) as file:
        writer = await asyncio.to_thread(writer_of, form, file, campaign.name, columns)
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
