"""A campaign from an upload: a form with the options first, and the file after them."""

from __future__ import annotations

import asyncio
from typing import Any

from aiohttp import web

from campaigns.console.api.create_request import CreateRequest, blamed_on_keys
from campaigns.console.api.replying import worked
from campaigns.console.api.upload_planning import create_from_upload
from campaigns.console.context import caller_of, console_of
from campaigns.console.forms import next_part, part_text
from campaigns.console.problems import Refused
from campaigns.console.uploads import digest_of, discard, store_upload
from campaigns.progress import ProgressCallback
from engine.errors import UsageError


async def create(request: web.Request) -> web.Response:
    """The same again changes nothing, with or without an Idempotency-Key."""
    if not request.content_type.startswith("multipart/"):
        raise Refused(415, "wrong_input", what="send a form of the parts spec and audience")
    spec = CreateRequest.model_validate_json(await part_text(await next_part(request, "spec")))
    upload = await store_upload(console_of(request).own, await next_part(request, "audience"))
    console, actor = console_of(request), caller_of(request).name

    async def work(progress: ProgressCallback) -> dict[str, Any]:
        try:
            return await create_from_upload(console, upload, spec, progress, actor=actor)
        except UsageError as error:
            raise blamed_on_keys(error) from error

    try:
        content = spec.model_dump_json().encode() + await asyncio.to_thread(digest_of, upload)
    except BaseException:
        discard(upload)
        raise
    return await worked(request, content, work, takes_key=not spec.dry_run, release=lambda: discard(upload))
