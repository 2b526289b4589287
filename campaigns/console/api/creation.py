"""A campaign from an upload: a form with the options first, and the file after them."""

from __future__ import annotations

from hashlib import file_digest
from typing import Any

from aiohttp import web

from campaigns.console.api.create_request import CampaignOptions, CreateRequest, blamed_on_keys
from campaigns.console.api.replying import once, reply
from campaigns.console.api.upload_planning import create_from_upload
from campaigns.console.context import caller_of, console_of
from campaigns.console.forms import next_part, part_text
from campaigns.console.problems import Refused
from campaigns.console.uploads import Upload, discard, store_upload
from engine.errors import UsageError


async def create(request: web.Request) -> web.Response:
    """The same again changes nothing, with or without an Idempotency-Key."""
    if not request.content_type.startswith("multipart/"):
        raise Refused(415, "wrong_input", what="send a form of the parts spec and audience")
    spec = CreateRequest.model_validate_json(await part_text(await next_part(request, "spec")))
    part = await next_part(request, "audience")
    upload = await store_upload(console_of(request).own, part)
    try:
        return await _create(request, upload, spec)
    except UsageError as error:
        raise blamed_on_keys(error) from error
    finally:
        discard(upload)


async def _create(request: web.Request, upload: Upload, spec: CampaignOptions) -> web.Response:
    console, actor = console_of(request), caller_of(request).name
    with upload.path.open("rb") as file:
        content = spec.model_dump_json().encode() + file_digest(file, "sha256").digest()

    async def work() -> dict[str, Any]:
        return await create_from_upload(console, upload, spec, actor=actor)

    return reply(await work() if spec.dry_run else await once(request, content, work))
