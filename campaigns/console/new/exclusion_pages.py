"""The exclusions of a new campaign, step 1: files whose people are left out."""

from __future__ import annotations

from aiohttp import web

from drumbeat.campaigns.console.new.choices import read_choices, write_choices
from drumbeat.campaigns.console.new.named import upload_of
from drumbeat.campaigns.console.web.context import console_of
from drumbeat.campaigns.console.web.forms import field_of, next_part
from drumbeat.campaigns.console.web.problems import Problem, Refused, problem_of
from drumbeat.campaigns.console.web.rendering import page, path_of, redirect
from drumbeat.campaigns.console.web.uploads import remove_beside, store_beside
from drumbeat.engine.errors import DrumbeatError


async def show_exclusions(request: web.Request, problem: Problem | None = None) -> web.Response:
    return page(request, "new_exclusions.html.j2", problem=problem, upload=upload_of(request))


async def add(request: web.Request) -> web.Response:
    upload, part = upload_of(request), await next_part(request, "excluded")
    if not part.filename:
        raise Refused(422, "wrong_input", what="no file was chosen")
    try:
        path = await store_beside(console_of(request).own, upload, part)
    except (DrumbeatError, Refused) as error:
        return await show_exclusions(request, problem_of(error))
    write_choices(upload, exclude=[*read_choices(upload).get("exclude", []), str(path)])
    return redirect(path_of("new", upload.reference, "exclusions"))


async def remove(request: web.Request) -> web.Response:
    upload = upload_of(request)
    path = str(upload.directory / await field_of(request, "file"))
    excluded = [name for name in read_choices(upload).get("exclude", []) if name != path]
    write_choices(upload, exclude=excluded or None)
    remove_beside(upload, path)
    return redirect(path_of("new", upload.reference, "exclusions"))
