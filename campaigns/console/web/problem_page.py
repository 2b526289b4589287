"""The page of a problem. A person who is not signed in is led to sign in."""

from __future__ import annotations

from aiohttp import web

from drumbeat.campaigns.console.web.access import SAFE_METHODS
from drumbeat.campaigns.console.web.problems import MESSAGES, Problem
from drumbeat.campaigns.console.web.rendering import page, redirect, with_query

SIGN_IN = "/sign-in"
# The first part of an address, and the title of the page that it leads to.
SECTIONS = {
    "new": "new.title",
    "people": "person.title",
    "replies": "nav.replies",
    "numbers": "numbers.title",
    "templates": "templates.title",
    "suppression": "suppression.title",
    "audit": "audit.title",
    "users": "users.title",
    "tokens": "tokens.title",
}
OF_UPLOADS = ("/new/", "/suppression/import/")


async def problem_page(request: web.Request, problem: Problem) -> web.StreamResponse:
    if problem.code == "sign_in_needed":
        then = request.path_qs if request.method in SAFE_METHODS else "/"
        return redirect(with_query(SIGN_IN, then=then))
    section = "" if problem.code == "role_too_low" else request.path.split("/")[1]
    response = page(
        request,
        "problem.html.j2",
        problem=problem,
        code=shown_code(request.path, problem),
        section=section,
        title=SECTIONS.get(section),
    )
    if problem.wait_s is not None:
        response.headers["Retry-After"] = str(max(1, round(problem.wait_s)))
    return response


def shown_code(path: str, problem: Problem) -> str:
    """Return the code whose text says what happened, or an empty text if only the problem itself says it."""
    if problem.code == "not_found" and path.startswith(OF_UPLOADS):
        return "upload_gone"
    return "" if problem.code == "not_found" and problem.what != MESSAGES["not_found"] else problem.code
