"""The forms of our pages, each with a token that only our pages know, and the uploads that come with them."""

from __future__ import annotations

from aiohttp import BodyPartReader, MultipartReader, web

from drumbeat.campaigns.console.web.access import CSRF_FIELD, CSRF_HEADER, SAFE_METHODS, Via
from drumbeat.campaigns.console.web.context import caller_of, console_of
from drumbeat.campaigns.console.web.problems import Refused

FORM = "application/x-www-form-urlencoded"
UPLOAD = "multipart/form-data"
FIELD_BYTES_MAX = 256 * 1024  # of a field beside a file
_PARTS: web.RequestKey[MultipartReader] = web.RequestKey("parts", MultipartReader)


async def check_form(request: web.Request) -> None:
    """Raise Refused if a request that changes something is not from a form or script of ours.

    The token is in a header or in a field. In an upload it is the first field, before the file, so that
    nothing is stored before the token is checked. It is never in an address, which logs and histories keep.
    """
    caller = caller_of(request)
    if request.method in SAFE_METHODS or caller.via is Via.TOKEN:
        return
    given = request.headers.get(CSRF_HEADER, "")
    if not given and request.content_type == FORM:
        given = str((await request.post()).get(CSRF_FIELD, ""))
    if not given and request.content_type == UPLOAD:
        given = await part_text(await next_part(request, CSRF_FIELD))
    if not console_of(request).door.is_own_form(caller, given):
        raise Refused(403, "stale_form")


async def field_of(request: web.Request, name: str) -> str:
    """Return a text field of the form, or an empty text if it is missing."""
    value = (await request.post()).get(name, "")
    return value.strip() if isinstance(value, str) else ""


def lines_of(text: str) -> list[str]:
    """Return the lines of a field that are not empty."""
    return [line.strip() for line in text.splitlines() if line.strip()]


async def next_part(request: web.Request, name: str) -> BodyPartReader:
    """Return the next part of an upload. Parts are read in their order. Refused if it has another name."""
    try:
        if _PARTS not in request:
            request[_PARTS] = await request.multipart()
        part = await request[_PARTS].next()
    except (AssertionError, ValueError) as error:  # no boundary, or one that does not come
        raise Refused(422, "wrong_input", what="the form cannot be read: it is no multipart form") from error
    if not isinstance(part, BodyPartReader) or part.name != name:
        raise Refused(422, "wrong_input", what=f"the next part of the form must be {name}")
    return part


async def part_text(part: BodyPartReader) -> str:
    """Return the text of a part that is no file. Refused if it is too large, or not UTF-8."""
    content = b""
    while chunk := await part.read_chunk():
        content += chunk
        if len(content) > FIELD_BYTES_MAX:
            raise Refused(413, "too_large")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise Refused(422, "wrong_input", what=f"the part {part.name} is not UTF-8") from None
