"""The rendering of pages: the templates with the words of the reader's language."""

from __future__ import annotations

from functools import cache
from typing import Any
from urllib.parse import quote, urlencode

from aiohttp import web
from jinja2 import Environment, PackageLoader, StrictUndefined

from drumbeat.campaigns.console.web.context import console_of, maybe_caller
from drumbeat.campaigns.console.web.countries import countries, country_name
from drumbeat.campaigns.console.web.language import (
    COOKIE,
    LANGUAGES,
    PageTexts,
    Texts,
    choose_language,
    texts_of,
)
from drumbeat.campaigns.console.web.local_times import local_of, time_zones
from drumbeat.campaigns.console.web.problems import Problem
from drumbeat.campaigns.console.web.roles import Role
from drumbeat.campaigns.console.web.sentences import remedy_said, said
from drumbeat.campaigns.console.web.static import static_url
from drumbeat.campaigns.duration import duration


@cache
def environment() -> Environment:
    made = Environment(
        loader=PackageLoader("drumbeat.campaigns.console", "views"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    made.globals |= {
        "with_query": with_query,
        "path_of": path_of,
        "countries": countries,
        "country_name": country_name,
        "local_of": local_of,
        "time_zones": time_zones,
        "static_url": static_url,
        "duration": duration,
        "said": said,
        "remedy_said": remedy_said,
        "languages": {code: texts_of(code)("language") for code in LANGUAGES},
        "Role": Role,
    }
    return made


def texts_for(request: web.Request) -> PageTexts:
    accepted = request.headers.get("Accept-Language", "")
    code = choose_language(request.cookies.get(COOKIE), accepted)
    return texts_of(code, console_of(request).own.zone)


def render(template: str, texts: Texts, **values: Any) -> str:
    """Render a part of a page. It depends only on the values that are passed, not on the reader."""
    return environment().get_template(template).render(t=texts, **values)


def page(
    request: web.Request,
    template: str,
    status: int | None = None,
    *,
    problem: Problem | None = None,
    **values: Any,
) -> web.Response:
    """Return a whole page for the caller. Its status is that of the problem, unless another one is given."""
    caller, door = maybe_caller(request), console_of(request).door
    text = render(
        template,
        texts_for(request),
        path=request.path,
        here=request.path_qs,
        caller=caller,
        csrf=door.csrf(caller),
        problem=problem,
        **values,
    )
    if status is None:
        status = 200 if problem is None else problem.status
    return web.Response(status=status, text=text, content_type="text/html")


def path_of(*parts: object) -> str:
    """Return a path. Each part may hold any character."""
    return "".join(f"/{quote(str(part), safe='')}" for part in parts)


def with_query(path: str, **values: object) -> str:
    """Return the path with those values that are given."""
    given = {name: value for name, value in values.items() if value not in (None, "", False)}
    return f"{path}?{urlencode(given)}" if given else path


def redirect(path: str) -> web.Response:
    """Answer a form: the browser asks for another page, so that a reload does not send the form again."""
    return web.Response(status=303, headers={"Location": path})
