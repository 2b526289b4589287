"""A new campaign: upload, map, check, create. Each step has an address, and the file is uploaded once."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from campaigns.account.numbers import list_numbers
from campaigns.account.templates import StoredTemplate, list_templates
from campaigns.audience.glimpse import Glimpse, glimpse, guess_params, guess_phone_column
from campaigns.console.api.shapes import CreateRequest
from campaigns.console.api.upload_planning import create_from_upload
from campaigns.console.context import caller_of, console_of
from campaigns.console.forms import next_part
from campaigns.console.pages.rendering import campaign_url, page, path_of, redirect
from campaigns.console.problems import Problem, Refused, problem_of
from campaigns.console.uploads import Upload, discard, find_upload, store_upload
from campaigns.planning.template import SENDABLE_STATUS, placeholders_of
from engine.core.campaign_template import CampaignTemplate
from engine.core.rendering import RenderedMessage, render_message
from engine.errors import DrumbeatError, NotFound, UsageError

# Fields of the form that are options of a create by the same name; an empty one is not given.
TEXT_OPTIONS = (
    "name",
    "phone_column",
    "region",
    "start_at",
    "expires_at",
    "window",
    "time_zone",
    "header_link",
)


@dataclass(frozen=True, slots=True)
class Step:
    """What the form shows: the file, what can be chosen, and what is chosen so far."""

    upload: Upload
    seen: Glimpse
    templates: list[StoredTemplate]
    chosen: CampaignTemplate | None
    form: Any  # the fields as they were sent, or empty

    @property
    def placeholders(self) -> Any:
        return placeholders_of(self.chosen) if self.chosen else ()

    @property
    def plain(self) -> RenderedMessage:
        """The message with its placeholders."""
        assert self.chosen is not None
        return render_message(self.chosen.definition.get("components") or (), (), ())

    @property
    def phone_column(self) -> str:
        return self.form.get("phone_column") or guess_phone_column(self.seen.columns) or ""

    @property
    def params(self) -> list[str]:
        given: list[str] = self.form.getall("param", [])
        guessed = guess_params(self.seen.columns, self.placeholders, self.phone_column)
        return given if len(given) == len(guessed) else guessed


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


async def show_form(request: web.Request) -> web.Response:
    """With `template` in the address, the form asks for its placeholders."""
    step = await _step(request, request.query)
    return await _form(request, step)


async def create(request: web.Request) -> web.Response:
    """Check, or create a draft: nothing is sent before somebody starts it."""
    fields = await request.post()
    step = await _step(request, fields)
    try:
        asked = asked_of(fields, step)
        done = await create_from_upload(
            console_of(request), step.upload, asked, actor=caller_of(request).name
        )
    except Exception as error:
        problem = problem_of(error)
        if problem.code == "unexpected":
            raise
        return await _form(request, step, problem=problem)
    if asked.dry_run:
        return await _form(request, step, checked=done)
    discard(step.upload)
    return redirect(campaign_url(asked.name))


def asked_of(fields: Any, step: Step) -> CreateRequest:
    """The request for a create; ValidationError or UsageError names what is missing."""
    if step.chosen is None:
        raise UsageError("no template was chosen")
    given = {name: text for name in TEXT_OPTIONS if (text := str(fields.get(name, "")).strip())}
    return CreateRequest(
        template=step.chosen.name,
        language=step.chosen.language,
        numbers=[str(number) for number in fields.getall("number", [])],
        params=[str(param) for param in fields.getall("param", [])],
        dry_run="check" in fields,
        **given,  # type: ignore[arg-type]  # checked by the class
    )


async def _step(request: web.Request, form: Any) -> Step:
    stored = find_upload(console_of(request).own, request.match_info["reference"])
    if stored is None:
        raise NotFound("the uploaded file is not kept any more", remedy="upload it again")
    async with stored.errors_named():
        seen = await asyncio.to_thread(glimpse, stored.path)
    templates = [
        each for each in await list_templates(console_of(request).pool) if each.status == SENDABLE_STATUS
    ]
    return Step(stored, seen, templates, _chosen(templates, str(form.get("template", ""))), form)


def _chosen(templates: list[StoredTemplate], wanted: str) -> CampaignTemplate | None:
    for each in templates:
        if f"{each.name} {each.language}" == wanted:
            return CampaignTemplate(each.name, each.language, each.definition, None)
    return None


async def _form(
    request: web.Request, step: Step, *, problem: Problem | None = None, checked: dict[str, Any] | None = None
) -> web.Response:
    status = 200 if problem is None else problem.status
    numbers = await list_numbers(console_of(request).pool)
    return page(
        request, "new_form.html.j2", status, step=step, numbers=numbers, problem=problem, checked=checked
    )
