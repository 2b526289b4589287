"""The replies of the interface about people, and the lists of suppressed phones as files."""

from __future__ import annotations

from dataclasses import asdict
from typing import cast

from aiohttp import web

from drumbeat.campaigns.actor import note_audit
from drumbeat.campaigns.campaign import find_campaign
from drumbeat.campaigns.console.people.actions import phone_in
from drumbeat.campaigns.console.people.shapes import (
    AllRepliesQuery,
    PhoneQuery,
    RecipientsQuery,
    RepliesQuery,
    SuppressedPhone,
    SuppressionImport,
    SuppressionImported,
    SuppressionList,
    SuppressionsQuery,
)
from drumbeat.campaigns.console.people.suppression_import import import_upload
from drumbeat.campaigns.console.web.attachments import attachment, csv_bytes
from drumbeat.campaigns.console.web.context import Console, caller_of, console_of, wants_head
from drumbeat.campaigns.console.web.forms import next_part, part_text
from drumbeat.campaigns.console.web.replying import value_of, worked
from drumbeat.campaigns.console.web.uploads import discard, store_upload
from drumbeat.campaigns.phones.suppression import (
    EXPORT_HEADER,
    export_cells,
    list_suppressions,
    suppression_page,
)
from drumbeat.campaigns.progress import ProgressCallback
from drumbeat.campaigns.results.phone_history import PhoneHistory, phone_history
from drumbeat.campaigns.results.recipient_pages import RecipientPage, recipient_page
from drumbeat.campaigns.results.replies import ReplyPage, campaign_reply_page, likely_opt_outs, reply_page

EXPORT_ROWS = 5_000  # written at once


async def recipients(console: Console, name: str, asked: RecipientsQuery) -> RecipientPage:
    campaign = await find_campaign(console.pool, name)
    return await recipient_page(console.pool, campaign.campaign_id, **asked.model_dump())


async def campaign_replies(console: Console, name: str, asked: RepliesQuery) -> ReplyPage:
    campaign = await find_campaign(console.pool, name)
    return await campaign_reply_page(
        console.pool, campaign.campaign_id, before=asked.before, limit=asked.limit
    )


async def replies(console: Console, asked: AllRepliesQuery) -> ReplyPage:
    read = likely_opt_outs if asked.likely_opt_outs else reply_page
    return await read(console.pool, before=asked.before, limit=asked.limit)


async def person(console: Console, name: str, asked: PhoneQuery) -> PhoneHistory:
    """Return all that happened to a phone."""
    return await phone_history(console.pool, phone_in(name, asked.region), asked.region)


async def suppressions(console: Console, asked: SuppressionsQuery) -> SuppressionList:
    page = await suppression_page(console.pool, after=asked.after, limit=asked.limit)
    listed = [cast(SuppressedPhone, {**asdict(entry), "phone": str(entry.phone)}) for entry in page.entries]
    return {"suppressions": listed, "next": page.next}


async def export_suppressions(request: web.Request) -> web.StreamResponse:
    """Send the whole suppression list as CSV, page by page."""
    console = console_of(request)
    response = web.StreamResponse(
        headers={
            "Content-Type": "text/csv; charset=utf-8",
            "Content-Disposition": attachment("csv", "suppressions", zone=console.own.zone),
        }
    )
    if wants_head(request):
        return response
    await note_audit(console.pool, caller_of(request).name, "suppression-export")
    await response.prepare(request)
    rows: list[tuple[object, ...]] = [EXPORT_HEADER]
    async for entry in list_suppressions(console.pool):
        rows.append(export_cells(entry))
        if len(rows) >= EXPORT_ROWS:
            await response.write(csv_bytes(rows))
            rows.clear()
    await response.write(csv_bytes(rows))
    return response


async def import_list(request: web.Request) -> web.Response:
    """Suppress the phones of a file in the form of an audience. A repeat changes nothing."""
    asked = value_of(await part_text(await next_part(request, "spec")), SuppressionImport)
    console, caller = console_of(request), caller_of(request)
    upload = await store_upload(console.own, await next_part(request, "file"))

    async def work(progress: ProgressCallback) -> SuppressionImported:
        return await import_upload(console, caller, upload, asked, progress)

    return await worked(request, upload.reference.encode(), work, release=lambda: discard(upload))
