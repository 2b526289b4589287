"""The import of a list of phones to suppress: upload, choice of the column, and a page that shows the
progress.
"""

from __future__ import annotations

import asyncio
from typing import Any

from aiohttp import web

from drumbeat.campaigns.audience.check.glimpse import glimpse
from drumbeat.campaigns.console.people.shapes import SuppressionImport, SuppressionImported
from drumbeat.campaigns.console.people.suppression_import import import_upload
from drumbeat.campaigns.console.web.context import caller_of, console_of
from drumbeat.campaigns.console.web.forms import field_of, next_part
from drumbeat.campaigns.console.web.jobs import Job
from drumbeat.campaigns.console.web.problems import Refused
from drumbeat.campaigns.console.web.rendering import page, path_of, redirect, render, texts_for
from drumbeat.campaigns.console.web.streams import stream_events
from drumbeat.campaigns.console.web.uploads import Upload, find_upload, store_upload
from drumbeat.campaigns.progress import ProgressCallback
from drumbeat.engine.errors import NotFound

VIEW = "suppression_import.html.j2"
NOTHING_TYPED = {"phone_column": "", "country_column": "", "region": "", "reason": ""}


def _path(upload: Upload) -> str:
    return path_of("suppression", "import", upload.reference)


async def upload(request: web.Request) -> web.Response:
    """Store the file, and go on to its address."""
    part = await next_part(request, "file")
    if not part.filename:
        raise Refused(422, "wrong_input", what="no file was chosen")
    return redirect(_path(await store_upload(console_of(request).own, part)))


def _upload_of(request: web.Request) -> Upload:
    """Return the upload. NotFound if it was given up, or its phones are on the list and its import is
    forgotten.
    """
    console = console_of(request)
    found = find_upload(console.own, request.match_info["reference"])
    if found is None:
        raise NotFound("the uploaded file is not kept any more", remedy="upload the file again")
    if not (found.path.exists() or console.jobs.find(_job_key(found))):
        raise NotFound("this import is not known any more", remedy="its phones are on the list")
    return found


async def show(request: web.Request) -> web.Response:
    """Show the form for reading the file, or the progress of its import and its result."""
    stored = _upload_of(request)
    running = console_of(request).jobs.find(_job_key(stored))
    if running is not None and running.problem is None:
        stream = "" if running.has_ended else f"/live{_path(stored)}"
        live = _values(stored, running)
        return page(request, "suppression_imported.html.j2", upload=stored, stream=stream, **live)
    problem = None if running is None else running.problem
    form = None if running is None else running.form
    async with stored.errors_named():
        seen = await asyncio.to_thread(glimpse, stored.path)
    return page(
        request,
        VIEW,
        upload=stored,
        problem=problem,
        columns=list(zip(seen.columns, seen.samples, strict=True)),
        to_choose=() if seen.phone_column else seen.phones,
        typed=form[1] if form else {**NOTHING_TYPED, "phone_column": seen.phone_column},
    )


def _job_key(stored: Upload) -> str:
    return f"import/{stored.reference}"


def _values(stored: Upload, running: Job) -> dict[str, Any]:
    listed = running.value["rejects"] if running.value else []
    return {"running": running, "rejects": listed, "address": _path(stored)}


async def begin(request: web.Request) -> web.Response:
    stored, console, caller = _upload_of(request), console_of(request), caller_of(request)
    typed = {name: await field_of(request, name) for name in NOTHING_TYPED}
    asked = SuppressionImport(
        reason=typed["reason"],
        phone_column=typed["phone_column"],
        country_column=typed["country_column"] or None,
        region=typed["region"] or None,
    )

    async def work(progress: ProgressCallback) -> SuppressionImported:
        imported = await import_upload(console, caller, stored, asked, progress)
        stored.path.unlink()  # its phones are on the list now
        return imported

    known = console.jobs.find(_job_key(stored))
    if known is None or known.problem is not None:
        console.jobs.begin(_job_key(stored), work, form=(VIEW, typed))
    return redirect(_path(stored))


async def stream(request: web.Request) -> web.StreamResponse:
    stored, texts = _upload_of(request), texts_for(request)
    running = console_of(request).jobs.find(_job_key(stored))
    if running is None:
        raise NotFound("this import is not known any more", remedy="begin it again")

    async def read() -> str:
        return render("suppression_imported_live.html.j2", texts, **_values(stored, running))

    return await stream_events(request, "view", read)


async def rejects(request: web.Request) -> web.StreamResponse:
    """Send all rows that could not be read, as `suppress import` lists them."""
    stored = _upload_of(request)
    if not stored.rejects.exists():
        raise NotFound("there is no such list")
    headers = {
        "Content-Type": "text/csv; charset=utf-8",
        "Content-Disposition": 'attachment; filename="rejects.csv"',
    }
    return web.FileResponse(stored.rejects, headers=headers)
