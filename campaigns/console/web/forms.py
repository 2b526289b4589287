"""The forms of our pages, each with a token that only our pages know, and the uploads that come with them."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

from aiohttp import BodyPartReader, MultipartReader, web
from aiohttp.http_exceptions import HttpProcessingError
from multidict import MultiDictProxy

from drumbeat.campaigns.console.web.access import CSRF_FIELD, CSRF_HEADER, SAFE_METHODS, Via
from drumbeat.campaigns.console.web.context import caller_of, console_of
from drumbeat.campaigns.console.web.problems import Refused

FORM = "application/x-www-form-urlencoded"
UPLOAD = "multipart/form-data"
FIELD_BYTES_MAX = 256 * 1024  # of a field beside a file
UNREADABLE = "the form cannot be read: its parts, its encoding or its Content-Type is wrong"
NO_TEXT = "a value holds a character that no text has"
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
        given = str((await form_of(request)).get(CSRF_FIELD, ""))
    if not given and request.content_type == UPLOAD:
        given = await part_text(await next_part(request, CSRF_FIELD))
    if not console_of(request).door.is_own_form(caller, given):
        raise Refused(403, "stale_form")


async def form_of(request: web.Request) -> MultiDictProxy[str | bytes | bytearray | web.FileField]:
    """Return the fields of the form. Refused with 400 if they cannot be read.

    Everybody may send anything to a form, and a library that reads it raises many kinds of errors.
    """
    if request.body_exists and request.content_type not in (FORM, UPLOAD):
        raise Refused(400, "wrong_input", what=f"a form needs the Content-Type {FORM}")
    with _readable():
        form = await request.post()
    for name, value in form.items():
        require_text(name)
        if isinstance(value, str):
            require_text(value)
    return form


@contextmanager
def _readable() -> Iterator[None]:
    """Refuse the request if the block cannot read it. Unicode and base64 errors are ValueErrors too."""
    try:
        yield
    except (HttpProcessingError, AssertionError, LookupError, RuntimeError, ValueError, zlib.error) as error:
        raise Refused(400, "wrong_input", what=UNREADABLE) from error


def require_text(text: str) -> None:
    """Refuse a text that Postgres cannot store: it holds NUL, or half of a character."""
    if "\0" in text or (not text.isascii() and any("\ud800" <= each <= "\udfff" for each in text)):
        raise Refused(400, "wrong_input", what=NO_TEXT)


async def field_of(request: web.Request, name: str) -> str:
    """Return a text field of the form, or an empty text if it is missing."""
    value = (await form_of(request)).get(name, "")
    return value.strip() if isinstance(value, str) else ""


def lines_of(text: str) -> list[str]:
    """Return the lines of a field that are not empty."""
    return [line.strip() for line in text.splitlines() if line.strip()]


async def next_part(request: web.Request, name: str) -> BodyPartReader:
    """Return the next part of an upload. Parts are read in their order. Refused if it has another name."""
    with _readable():
        if _PARTS not in request:
            request[_PARTS] = await request.multipart()
        part = await request[_PARTS].next()
    if not isinstance(part, BodyPartReader) or part.name != name:
        raise Refused(422, "wrong_input", what=f"the next part of the form must be {name}")
    require_text(part.filename or "")
    return part


async def chunks_of(part: BodyPartReader, bytes_max: int) -> AsyncIterator[bytes]:
    """Yield the content of a part, in chunks of at most `bytes_max`."""
    while True:
        with _readable():
            chunk = await part.read_chunk(bytes_max)
        if not chunk:
            return
        yield chunk


async def part_text(part: BodyPartReader) -> str:
    """Return the text of a part that is no file. Refused if it is too large, or not UTF-8."""
    content = b""
    async for chunk in chunks_of(part, FIELD_BYTES_MAX):
        content += chunk
        if len(content) > FIELD_BYTES_MAX:
            raise Refused(413, "too_large")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise Refused(422, "wrong_input", what=f"the part {part.name} is not UTF-8") from None
