"""A new campaign, step 1: the list of recipients. It is uploaded, and its columns are recognised."""

from __future__ import annotations

from aiohttp import web

from campaigns.console.choices import write_choices
from campaigns.console.context import console_of
from campaigns.console.forms import field_of, next_part
from campaigns.console.pages.new_campaign import step_of, upload_of
from campaigns.console.pages.rendering import page, path_of, redirect
from campaigns.console.problems import Refused, problem_of
from campaigns.console.uploads import store_upload
from engine.errors import DrumbeatError


async def show_upload(request: web.Request) -> web.Response:
    return page(request, "new_upload.html.j2", problem=None)


async def upload(request: web.Request) -> web.Response:
    """Store the file, and go on to its address."""
    part = await next_part(request, "audience")
    if not part.filename:
        raise Refused(422, "wrong_input", what="no file was chosen")
    try:
        stored = await store_upload(console_of(request).own, part)
    except (DrumbeatError, Refused) as error:
        problem = problem_of(error)
        return page(request, "new_upload.html.j2", problem.status, problem=problem)
    return redirect(path_of("new", stored.reference))


async def show_list(request: web.Request) -> web.Response:
    return page(request, "new_list.html.j2", step=await step_of(request))


async def save_list(request: web.Request) -> web.Response:
    stored = upload_of(request)
    write_choices(
        stored,
        phone_column=await field_of(request, "phone_column") or None,
        region=await field_of(request, "region") or None,
    )
    return redirect(path_of("new", stored.reference, "message"))
