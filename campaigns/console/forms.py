"""Forms of our pages: each holds a token that only our pages know."""

from __future__ import annotations

from aiohttp import web

from campaigns.console.access import CSRF_FIELD, CSRF_HEADER, SAFE_METHODS
from campaigns.console.context import caller_of, console_of
from campaigns.console.problems import Refused

FORM = "application/x-www-form-urlencoded"


async def check_form(request: web.Request) -> None:
    """Refused if a request that changes something is not from a form or script of ours.

    The token is in a header, or in a form's field. An upload of a page must send it in the address, because
    its fields are read only after the file was asked for.
    """
    if request.method in SAFE_METHODS:
        return
    given = request.headers.get(CSRF_HEADER, "")
    if not given and request.content_type == FORM:
        given = str((await request.post()).get(CSRF_FIELD, ""))
    if not given and request.content_type == "multipart/form-data":
        given = request.query.get(CSRF_FIELD, "")
    if not console_of(request).door.is_own_form(caller_of(request), given):
        raise Refused(403, "stale_form")


async def field_of(request: web.Request, name: str) -> str:
    """A text field of the form; empty if it is missing."""
    value = (await request.post()).get(name, "")
    return value.strip() if isinstance(value, str) else ""
