"""A problem as a page, and who is not signed in goes to sign in."""

from __future__ import annotations

from aiohttp import web

from campaigns.console.access import SAFE_METHODS
from campaigns.console.pages.rendering import page, redirect, with_query
from campaigns.console.problems import Problem

SIGN_IN = "/sign-in"


async def problem_page(request: web.Request, problem: Problem) -> web.StreamResponse:
    if problem.code == "sign_in_needed":
        then = request.path_qs if request.method in SAFE_METHODS else "/"
        return redirect(with_query(SIGN_IN, then=then))
    response = page(request, "problem.html.j2", status=problem.status, problem=problem)
    if problem.wait_s is not None:
        response.headers["Retry-After"] = str(max(1, round(problem.wait_s)))
    return response
