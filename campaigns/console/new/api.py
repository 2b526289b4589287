"""The uploads of the interface, and the campaigns that are made of them."""

from __future__ import annotations

import asyncio

from aiohttp import web

from drumbeat.campaigns.audience.check.glimpse import glimpse
from drumbeat.campaigns.audience.open.header_row import HeaderRowUndecided
from drumbeat.campaigns.audience.open.opening import sheets_of
from drumbeat.campaigns.console.new.actions import create_from_upload, give_up
from drumbeat.campaigns.console.new.create_request import CreateRequest
from drumbeat.campaigns.console.new.named import upload_of
from drumbeat.campaigns.console.new.shapes import Created, UploadedList
from drumbeat.campaigns.console.web.context import caller_of, console_of
from drumbeat.campaigns.console.web.forms import next_part, part_text
from drumbeat.campaigns.console.web.problems import Refused
from drumbeat.campaigns.console.web.replying import body_of, reply, value_of, worked
from drumbeat.campaigns.console.web.uploads import digest_of, discard, store_upload
from drumbeat.campaigns.options.sources import ALL_ROWS
from drumbeat.campaigns.progress import ProgressCallback
from drumbeat.engine.errors import DrumbeatError


async def create(request: web.Request) -> web.Response:
    """Create a campaign from a form with the options first, and the file after them. A repeat changes
    nothing, with or without an Idempotency-Key.
    """
    _require_form(request, "of the parts spec and audience")
    spec = value_of(await part_text(await next_part(request, "spec")), CreateRequest)
    console, caller = console_of(request), caller_of(request)
    upload = await store_upload(console.own, await next_part(request, "audience"))

    async def work(progress: ProgressCallback) -> Created:
        return await create_from_upload(console, caller, upload, spec, progress)

    try:
        content = spec.model_dump_json().encode() + await asyncio.to_thread(digest_of, upload)
    except BaseException:
        discard(upload)
        raise
    return await worked(request, content, work, takes_key=not spec.dry_run, release=lambda: discard(upload))


def _require_form(request: web.Request, parts: str) -> None:
    if not request.content_type.startswith("multipart/"):
        raise Refused(415, "wrong_input", what=f"send a form {parts}")


async def add(request: web.Request) -> web.Response:
    """Store the list. For a workbook with several sheets, the columns are known once the check names one of
    them, and so is a list below a title, once the check names the row of its header.
    """
    seen, header_row = None, None
    _require_form(request, "with the part audience")
    upload = await store_upload(console_of(request).own, await next_part(request, "audience"))
    try:
        async with upload.errors_named():
            sheets = await asyncio.to_thread(sheets_of, upload.path)
            if len(sheets) < 2:
                seen = await asyncio.to_thread(glimpse, upload.path, ALL_ROWS)
    except HeaderRowUndecided as undecided:
        header_row = undecided.proposed
    except DrumbeatError:
        discard(upload)
        raise
    found: UploadedList = {
        "reference": upload.reference,
        "name": upload.name,
        "sheets": list(sheets),
        "header_row": header_row,
        "columns": [] if seen is None else list(seen.columns),
    }
    return reply(found, 201)


async def create_from_list(request: web.Request) -> web.Response:
    """Create a campaign from the list, as `create` does. The list is removed once the campaign exists."""
    spec = await body_of(request, CreateRequest)
    console, caller = console_of(request), caller_of(request)

    async def work(progress: ProgressCallback) -> Created:
        upload = upload_of(request)  # a repeated request finds its reply, and no list any more
        done = await create_from_upload(console, caller, upload, spec, progress)
        if not spec.dry_run:
            await give_up(console, upload)
        return done

    return await worked(request, spec.model_dump_json().encode(), work, takes_key=not spec.dry_run)
