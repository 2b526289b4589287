"""The lists that are uploaded once, checked and corrected, and then become a campaign."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Any

from aiohttp import web

from drumbeat.campaigns.audience.check.glimpse import glimpse
from drumbeat.campaigns.audience.check.row_check import RowRules
from drumbeat.campaigns.audience.open.opening import sheets_of
from drumbeat.campaigns.console.new.actions import create_from_upload
from drumbeat.campaigns.console.new.choices import add_corrections, read_corrections
from drumbeat.campaigns.console.new.create_request import CreateRequest
from drumbeat.campaigns.console.new.list_check import forget_found
from drumbeat.campaigns.console.new.shapes import CorrectionsRequest, ListCheckRequest
from drumbeat.campaigns.console.web.context import caller_of, console_of
from drumbeat.campaigns.console.web.forms import next_part, upload_of
from drumbeat.campaigns.console.web.problems import Refused
from drumbeat.campaigns.console.web.replying import body_of, reply, worked
from drumbeat.campaigns.console.web.uploads import discard, store_upload
from drumbeat.campaigns.options.sources import ALL_ROWS, ReadOptions
from drumbeat.campaigns.progress import ProgressCallback
from drumbeat.engine.errors import DrumbeatError

CHECK_WAIT_S = 10.0  # then the reply says how far the check is; the same request waits on


async def add(request: web.Request) -> web.Response:
    """Store the list. For a workbook with several sheets, the columns are known once the check names one of
    them.
    """
    if not request.content_type.startswith("multipart/"):
        raise Refused(415, "wrong_input", what="send a form with the part audience")
    upload = await store_upload(console_of(request).own, await next_part(request, "audience"))
    try:
        async with upload.errors_named():
            sheets = await asyncio.to_thread(sheets_of, upload.path)
            columns = (
                [] if len(sheets) > 1 else (await asyncio.to_thread(glimpse, upload.path, ALL_ROWS)).columns
            )
    except DrumbeatError:
        discard(upload)
        raise
    found = {"reference": upload.reference, "name": upload.name, "sheets": sheets, "columns": list(columns)}
    return reply(found, 201)


async def check(request: web.Request) -> web.Response:
    """Return the result of a check. Start the check if none with the same options and corrections exists."""
    asked, upload = await body_of(request, ListCheckRequest), upload_of(request)
    rules = RowRules(
        asked.phone_column,
        tuple(asked.param),
        asked.region,
        asked.map,
        asked.default,
        tuple(asked.as_mobile),
        corrections=read_corrections(upload),
    )
    checks, reading = console_of(request).checks, ReadOptions(None, asked.sheet, asked.hidden_rows)
    found = await checks.found(upload, rules, reading, wait_s=CHECK_WAIT_S)
    if found is None:
        under_way = checks.under_way(upload)
        return reply({"ended": False, "checked": 0 if under_way is None else under_way.rows, "found": None})
    if found.refused is not None:
        forget_found(upload)
        raise found.refused
    return reply({"ended": True, "checked": found.rows, "found": asdict(found)})


async def correct(request: web.Request) -> web.Response:
    """Store corrected rows: each row whole, in the order of the header. The next check and the campaign use
    them.
    """
    asked, upload = await body_of(request, CorrectionsRequest), upload_of(request)
    add_corrections(upload, {row.line: row.cells for row in asked.rows})
    return reply({"corrected": len(read_corrections(upload))})


async def create(request: web.Request) -> web.Response:
    """Create a campaign from the list, as `POST /campaigns` does. The list is removed once the campaign
    exists.
    """
    spec = await body_of(request, CreateRequest)
    console, actor = console_of(request), caller_of(request).name

    async def work(progress: ProgressCallback) -> dict[str, Any]:
        upload = upload_of(request)  # a repeated request finds its reply, and no list any more
        done = await create_from_upload(console, upload, spec, progress, actor=actor)
        if not spec.dry_run:
            await console.checks.stop(upload)
            discard(upload)
        return done

    return await worked(request, spec.model_dump_json().encode(), work, takes_key=not spec.dry_run)


async def remove(request: web.Request) -> web.Response:
    upload = upload_of(request)
    await console_of(request).checks.stop(upload)
    discard(upload)
    return reply({"reference": upload.reference})
