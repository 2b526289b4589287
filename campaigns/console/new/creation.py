"""The creation of a campaign from an upload: a form with the options first, and the file after them."""

from __future__ import annotations

import asyncio
from typing import Any

from aiohttp import web

from drumbeat.campaigns.console.new.actions import create_from_upload
from drumbeat.campaigns.console.new.create_request import CreateRequest
from drumbeat.campaigns.console.web.context import caller_of, console_of
from drumbeat.campaigns.console.web.forms import next_part, part_text
from drumbeat.campaigns.console.web.problems import Refused
from drumbeat.campaigns.console.web.replying import worked
from drumbeat.campaigns.console.web.uploads import digest_of, discard, store_upload
from drumbeat.campaigns.progress import ProgressCallback


async def create(request: web.Request) -> web.Response:
    """Create a campaign. A repeat changes nothing, with or without an Idempotency-Key."""
    if not request.content_type.startswith("multipart/"):
        raise Refused(415, "wrong_input", what="send a form of the parts spec and audience")
    spec = CreateRequest.model_validate_json(await part_text(await next_part(request, "spec")))
    upload = await store_upload(console_of(request).own, await next_part(request, "audience"))
    console, actor = console_of(request), caller_of(request).name

    async def work(progress: ProgressCallback) -> dict[str, Any]:
        return await create_from_upload(console, upload, spec, progress, actor=actor)

    try:
        content = spec.model_dump_json().encode() + await asyncio.to_thread(digest_of, upload)
    except BaseException:
        discard(upload)
        raise
    return await worked(request, content, work, takes_key=not spec.dry_run, release=lambda: discard(upload))
