"""A new campaign, step 3: the sending. Name, numbers and times; then a check, and the draft."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from campaigns.account.numbers import list_numbers
from campaigns.console.api.create_request import CreateRequest
from campaigns.console.api.upload_planning import create_from_upload
from campaigns.console.choices import read_choices, write_choices
from campaigns.console.context import caller_of, console_of
from campaigns.console.pages.new_campaign import upload_of
from campaigns.console.pages.rendering import campaign_url, page, path_of, redirect
from campaigns.console.problems import Problem, problem_of
from campaigns.console.uploads import Upload, discard

# Fields of the form that are options of a create by the same name; an empty one is not given.
TEXT_OPTIONS = ("name", "start_at", "expires_at", "window", "time_zone")


async def show_sending(request: web.Request) -> web.Response:
    stored = upload_of(request)
    if "template" not in read_choices(stored):
        return redirect(path_of("new", stored.reference, "message"))
    return await _form(request, stored)


async def create(request: web.Request) -> web.Response:
    """Check, or create a draft: nothing is sent before somebody starts it."""
    fields: Any = await request.post()
    stored = upload_of(request)
    write_choices(
        stored,
        number=[str(number) for number in fields.getall("number", [])],
        **{name: str(fields.get(name, "")).strip() or None for name in TEXT_OPTIONS},
    )
    try:
        asked = CreateRequest(**read_choices(stored), dry_run="check" in fields)
        done = await create_from_upload(console_of(request), stored, asked, actor=caller_of(request).name)
    except Exception as error:
        problem = problem_of(error)
        if problem.code == "unexpected":
            raise
        return await _form(request, stored, problem=problem)
    if asked.dry_run:
        return await _form(request, stored, checked=done)
    await console_of(request).checks.stop(stored)
    discard(stored)
    return redirect(campaign_url(asked.name))


async def _form(
    request: web.Request,
    stored: Upload,
    *,
    problem: Problem | None = None,
    checked: dict[str, Any] | None = None,
) -> web.Response:
    return page(
        request,
        "new_sending.html.j2",
        200 if problem is None else problem.status,
        upload=stored,
        choices=read_choices(stored),
        numbers=await list_numbers(console_of(request).pool),
        problem=problem,
        checked=checked,
    )
