"""A campaign from an upload: a form with the options first, and the file after them."""

from __future__ import annotations

from hashlib import file_digest
from typing import Any

from aiohttp import BodyPartReader, MultipartReader, web

from campaigns.console.api.create_request import CampaignOptions, CreateRequest, blamed_on_keys
from campaigns.console.api.replying import once, reply
from campaigns.console.api.upload_planning import create_from_upload
from campaigns.console.context import caller_of, console_of
from campaigns.console.problems import Refused
from campaigns.console.uploads import Upload, discard, store_upload
from engine.errors import UsageError

SPEC_BYTES_MAX = 256 * 1024


async def create(request: web.Request) -> web.Response:
    """The same again changes nothing, with or without an Idempotency-Key."""
    if not request.content_type.startswith("multipart/"):
        raise Refused(415, "wrong_input", what="send a form of the parts spec and audience")
    parts = await request.multipart()
    spec = CreateRequest.model_validate_json(await _spec_of(parts))
    part = await parts.next()
    if not isinstance(part, BodyPartReader) or part.name != "audience":
        raise Refused(422, "wrong_input", what="the second part of the form must be the file audience")
    upload = await store_upload(console_of(request).own, part)
    try:
        return await _create(request, upload, spec)
    except UsageError as error:
        raise blamed_on_keys(error) from error
    finally:
        discard(upload)


async def _spec_of(parts: MultipartReader) -> bytes:
    part = await parts.next()
    if not isinstance(part, BodyPartReader) or part.name != "spec":
        raise Refused(422, "wrong_input", what="the first part of the form must be spec, as JSON")
    content = b""
    while chunk := await part.read_chunk():
        content += chunk
        if len(content) > SPEC_BYTES_MAX:
            raise Refused(413, "too_large")
    return content


async def _create(request: web.Request, upload: Upload, spec: CampaignOptions) -> web.Response:
    console, actor = console_of(request), caller_of(request).name
    with upload.path.open("rb") as file:
        content = spec.model_dump_json().encode() + file_digest(file, "sha256").digest()

    async def work() -> dict[str, Any]:
        return await create_from_upload(console, upload, spec, actor=actor)

    return reply(await work() if spec.dry_run else await once(request, content, work))
