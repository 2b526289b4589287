"""The upload that an address names."""

from __future__ import annotations

from aiohttp import web

from drumbeat.campaigns.console.web.context import Console, console_of
from drumbeat.campaigns.console.web.uploads import Upload, find_upload
from drumbeat.engine.errors import NotFound


def creation_key(reference: str) -> str:
    """Return the key of the job that checks an upload or makes its draft."""
    return f"new/{reference}"


def upload_of(request: web.Request) -> Upload:
    return upload_named(console_of(request), request.match_info["reference"])


def upload_named(console: Console, reference: str) -> Upload:
    """Return the upload. If a draft was made from it meanwhile, lead to the draft. NotFound if the upload was
    given up.
    """
    if (found := find_upload(console.own, reference)) is not None:
        return found
    made = console.jobs.find(creation_key(reference))
    if made is not None and made.value:
        raise web.HTTPSeeOther(made.value)
    raise NotFound(
        "the uploaded file is not kept any more",
        remedy="its draft may be among the campaigns; otherwise upload the file again",
    )
