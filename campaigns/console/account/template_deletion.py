"""The deletion of a template at the service. First a page shows the languages that may go and the campaigns
that still need them.
"""

from __future__ import annotations

from aiohttp import web

from drumbeat.campaigns.account.templates import template_uses, templates_named
from drumbeat.campaigns.console.account import actions
from drumbeat.campaigns.console.account.shapes import TemplateToDelete
from drumbeat.campaigns.console.web.context import caller_of, console_of
from drumbeat.campaigns.console.web.forms import field_of
from drumbeat.campaigns.console.web.problems import Problem, problem_of
from drumbeat.campaigns.console.web.rendering import page, redirect
from drumbeat.engine.errors import DrumbeatError


async def ask(request: web.Request) -> web.Response:
    return await _ask(request, request.query.get("language", ""))


async def delete(request: web.Request) -> web.Response:
    """Delete the template in the language of the form, or in all if that is empty."""
    name, language = request.match_info["name"], await field_of(request, "language")
    asked = TemplateToDelete(language=language or None)
    try:
        await actions.delete_template(console_of(request), caller_of(request), name, asked)
    except DrumbeatError as error:
        return await _ask(request, language, problem_of(error))
    return redirect("/templates")


async def _ask(request: web.Request, chosen: str, problem: Problem | None = None) -> web.Response:
    name, pool = request.match_info["name"], console_of(request).pool
    languages = [each.language for each in await templates_named(pool, name)]
    uses = await template_uses(pool, name)
    free = [each for each in languages if not any(use.needs(each) for use in uses)]
    return page(
        request,
        "template_delete.html.j2",
        name=name,
        uses=uses,
        free=free,
        may_all=free == languages,
        chosen=chosen,
        problem=problem,
    )
