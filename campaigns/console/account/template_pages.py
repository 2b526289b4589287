"""The pages of templates: those of the account, and a new one, whose review by the service is followed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from aiohttp import web

from drumbeat.campaigns.account.code_template import EXPIRES_MAX_MIN, CodeForm
from drumbeat.campaigns.account.template_form import (
    BUTTON_KINDS,
    BUTTONS_MAX,
    CATEGORIES,
    HEADER_FORMATS,
    FormButton,
    TemplateForm,
)
from drumbeat.campaigns.account.template_like import corrected, in_another_language
from drumbeat.campaigns.account.templates import (
    STOPPED,
    list_templates,
    refresh_template,
    templates_named,
)
from drumbeat.campaigns.console.account import actions
from drumbeat.campaigns.console.account.shapes import TemplateRequest
from drumbeat.campaigns.console.web.cache import Kind
from drumbeat.campaigns.console.web.context import Console, caller_of, console_of
from drumbeat.campaigns.console.web.forms import form_of
from drumbeat.campaigns.console.web.language import Texts
from drumbeat.campaigns.console.web.problems import Problem, problem_of
from drumbeat.campaigns.console.web.rendering import page, path_of, redirect, render, texts_for
from drumbeat.campaigns.console.web.roles import Role
from drumbeat.campaigns.console.web.streams import stream_events
from drumbeat.engine.core.template.rendering import render_message
from drumbeat.engine.errors import DrumbeatError

IN_REVIEW = "PENDING"
# An event tells the result of a review. Without a receiver, the service is asked: 30 of its 200 calls an
# hour.
ASK_EVERY_S = 120.0
# Why the service could not be asked for a template in review, or an empty text; by name.
REVIEW: Kind[str, str] = Kind("review", period_s=ASK_EVERY_S)
BUTTONS_SHOWN = 3
EXAMPLE = "example "
PLAIN_FIELDS = (
    "name",
    "language",
    "category",
    "header_format",
    "header",
    "header_sample",
    "body",
    "footer",
)


async def show_templates(request: web.Request) -> web.Response:
    return page(request, "templates.html.j2", templates=await list_templates(console_of(request).pool))


async def sync(request: web.Request) -> web.Response:
    """Read the templates from the service."""
    await actions.sync_templates(console_of(request), caller_of(request))
    return redirect("/templates")


async def show_template(request: web.Request) -> web.Response:
    """Show each language as it is read, with its placeholders in place of values."""
    name = request.match_info["name"]
    live = await _live(request, name, texts_for(request))
    return page(
        request, "template.html.j2", name=name, live=live, stream=f"/live{path_of('templates', name)}"
    )


async def stream_template(request: web.Request) -> web.StreamResponse:
    name, texts = request.match_info["name"], texts_for(request)

    async def read() -> str:
        return await _live(request, name, texts, follows=True)

    return await stream_events(request, "view", read)


async def _live(request: web.Request, name: str, texts: Texts, *, follows: bool = False) -> str:
    """Return the live part of a template's page. `follows`: somebody waits for the review, so the service is
    asked now and then.
    """
    console, may_send = console_of(request), caller_of(request).may(Role.SEND)
    found = await templates_named(console.pool, name)
    in_review, problem = any(each.status == IN_REVIEW for each in found), ""
    if in_review and follows:
        problem = await console.cache.get(REVIEW, name, lambda: _ask_service(console, name))
    shown = [(each, render_message(each.definition.get("components") or (), (), ())) for each in found]
    return render(
        "template_live.html.j2",
        texts,
        name=name,
        shown=shown,
        in_review=in_review,
        problem=problem,
        may_send=may_send,
        stopped=STOPPED,
    )


async def _ask_service(console: Console, name: str) -> str:
    """Ask the service for a template in review. Return why that was not possible, or an empty text."""
    try:
        async with console.account() as (service, waba_id):
            await refresh_template(console.pool, service, waba_id, name)
    except DrumbeatError as error:
        return error.what
    return ""


async def show_new(request: web.Request) -> web.Response:
    """Show an empty form, or the template `like`: in another language, or to be corrected in its
    `language`.
    """
    like, language = request.query.get("like"), request.query.get("language")
    if like is None:
        return _form(request, TemplateForm(language="en_US"))
    stored = await templates_named(console_of(request).pool, like)
    if language is None:
        return _form(request, in_another_language(stored[0]))
    return _form(request, corrected(next((each for each in stored if each.language == language), stored[0])))


async def create(request: web.Request) -> web.Response:
    """Submit the template, or show the form again with what is wrong."""
    form = typed_form(await form_of(request))
    if errors := form.errors():
        return _form(request, form, 422, errors=errors)
    try:
        asked = TemplateRequest.model_construct(**asdict(form.new_template()))
        await actions.submit_template(console_of(request), caller_of(request), asked)
    except DrumbeatError as error:
        return _refused(request, form, problem_of(error))
    return redirect(path_of("templates", form.name))


def _refused(request: web.Request, form: TemplateForm, problem: Problem) -> web.Response:
    """Show the form with the service's words at the field that they name."""
    place = form.field_of_refusal(problem.what) if problem.code == "service_refused" else None
    return _form(request, form, problem=problem, refused=place)


async def preview(request: web.Request) -> web.Response:
    """Show the form with the message as it will be, the examples that it needs, and perhaps one more
    button.
    """
    fields = await form_of(request)
    return _form(request, typed_form(fields), rows=len(fields.getall("button_kind", [])) + ("more" in fields))


def typed_form(fields: Any) -> TemplateForm:
    """Return the form as it was typed. Rows of buttons without a kind are left out."""

    def text(name: str) -> str:
        return str(fields.get(name, "")).strip().replace("\r\n", "\n")

    columns = [map(str.strip, fields.getall(f"button_{name}", [])) for name in ("kind", "text", "value")]
    buttons = tuple(FormButton(*row) for row in zip(*columns, strict=False) if row[0])
    given: Mapping[str, str] = {
        key.removeprefix(EXAMPLE): text(key) for key in fields if key.startswith(EXAMPLE)
    }
    plain = {name: text(name) for name in PLAIN_FIELDS if name in fields}
    code = CodeForm("warns" in fields, text("expires_min"), text("code_button"))
    return TemplateForm(**plain, buttons=buttons, code=code, examples=given)


def _form(
    request: web.Request,
    form: TemplateForm,
    status: int | None = None,
    *,
    rows: int = 0,
    errors: Mapping[str, str] | None = None,
    problem: Problem | None = None,
    refused: str | None = None,
) -> web.Response:
    shown = min(max(BUTTONS_SHOWN, len(form.buttons), rows), BUTTONS_MAX)
    buttons = [*form.buttons, *[FormButton("", "", "")] * (shown - len(form.buttons))]
    return page(
        request,
        "template_form.html.j2",
        status,
        form=form,
        errors=errors or {},
        message=form.preview(),
        buttons=buttons,
        may_add=shown < BUTTONS_MAX,
        problem=problem,
        refused=refused,
        categories=CATEGORIES,
        formats=HEADER_FORMATS,
        kinds=BUTTON_KINDS,
        expires_max_min=EXPIRES_MAX_MIN,
    )
