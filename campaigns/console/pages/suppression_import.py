"""A list of phones to suppress: uploaded, its column chosen, read while its page shows how far it is."""

from __future__ import annotations

import asyncio
from typing import Any

from aiohttp import web

from campaigns.audience.glimpse import glimpse, guess_phone_column
from campaigns.console.api.upload_planning import first_rejects
from campaigns.console.context import caller_of, console_of
from campaigns.console.forms import field_of, next_part
from campaigns.console.imports import Import
from campaigns.console.pages.rendering import page, path_of, redirect, render, texts_for
from campaigns.console.problems import Refused
from campaigns.console.streams import stream_events
from campaigns.console.uploads import Upload, find_upload, store_upload
from engine.errors import NotFound


def _path(upload: Upload) -> str:
    return path_of("suppression", "import", upload.reference)


async def upload(request: web.Request) -> web.Response:
    """Store the file, and go on to its address."""
    part = await next_part(request, "file")
    if not part.filename:
        raise Refused(422, "wrong_input", what="no file was chosen")
    return redirect(_path(await store_upload(console_of(request).own, part)))


def _upload_of(request: web.Request) -> Upload:
    found = find_upload(console_of(request).own, request.match_info["reference"])
    if found is None:
        raise NotFound("the uploaded file is not kept any more", remedy="upload it again")
    return found


async def show(request: web.Request) -> web.Response:
    """What to read of the file; or how far its import is, and how it ended."""
    stored = _upload_of(request)
    running = console_of(request).imports.find(stored)
    if running is not None and running.problem is None:
        stream = "" if running.has_ended else f"/live{_path(stored)}"
        live = _values(stored, running)
        return page(request, "suppression_imported.html.j2", upload=stored, stream=stream, **live)
    problem = None if running is None else running.problem
    async with stored.errors_named():
        seen = await asyncio.to_thread(glimpse, stored.path)
    return page(
        request,
        "suppression_import.html.j2",
        200 if problem is None else problem.status,
        upload=stored,
        problem=problem,
        columns=list(zip(seen.columns, seen.samples, strict=True)),
        guessed=guess_phone_column(seen.columns),
    )


def _values(stored: Upload, running: Import) -> dict[str, Any]:
    listed = first_rejects(stored.rejects) if running.counts and running.counts.rejected else []
    return {"running": running, "rejects": listed, "address": _path(stored)}


async def begin(request: web.Request) -> web.Response:
    stored, console = _upload_of(request), console_of(request)
    console.imports.begin(
        console.pool,
        stored,
        reason=await field_of(request, "reason"),
        phone_column=await field_of(request, "phone_column"),
        region=await field_of(request, "region") or None,
        actor=caller_of(request).name,
    )
    return redirect(_path(stored))


async def stream(request: web.Request) -> web.StreamResponse:
    stored, texts = _upload_of(request), texts_for(request)
    running = console_of(request).imports.find(stored)
    if running is None:
        raise NotFound("this import is not known any more", remedy="begin it again")

    async def read() -> str:
        return render("suppression_imported_live.html.j2", texts, **_values(stored, running))

    return await stream_events(request, "view", read)


async def rejects(request: web.Request) -> web.StreamResponse:
    """All rows that could not be read, as `suppress import` lists them."""
    stored = _upload_of(request)
    if not stored.rejects.exists():
        raise NotFound("there is no such list")
    headers = {
        "Content-Type": "text/csv; charset=utf-8",
        "Content-Disposition": 'attachment; filename="rejects.csv"',
    }
    return web.FileResponse(stored.rejects, headers=headers)
