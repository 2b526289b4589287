"""The page of a user's own password."""

from __future__ import annotations

import time

from aiohttp import web

from drumbeat.campaigns.console.web.access import Caller, Via
from drumbeat.campaigns.console.web.context import caller_of, console_of
from drumbeat.campaigns.console.web.forms import form_of
from drumbeat.campaigns.console.web.known_browsers import remember
from drumbeat.campaigns.console.web.problems import MESSAGES, Problem, Refused, problem_of
from drumbeat.campaigns.console.web.rendering import page, redirect
from drumbeat.campaigns.console.web.sign_in_limit import Attempt
from drumbeat.campaigns.console.web.users import change_password
from drumbeat.engine.errors import NotFound, UsageError

DONE = "/password?changed=yes"


async def show(request: web.Request) -> web.Response:
    _of_session(request)
    return _form(request)


def _of_session(request: web.Request) -> Caller:
    """Return the caller. NotFound for a caller whose password is not kept here."""
    caller = caller_of(request)
    if caller.via is not Via.SESSION:
        raise NotFound("you signed in without a password of this console")
    return caller


def _form(request: web.Request, problem: Problem | None = None) -> web.Response:
    return page(request, "password.html.j2", problem=problem, changed="changed" in request.query)


def _require_same(new: str, again: str) -> None:
    if new != again:
        raise UsageError("the new password was not typed the same twice")


async def change(request: web.Request) -> web.Response:
    """Change the password. Attempts count like those in a browser that is known: an open session must not
    help to guess the password. The browser stays known with the new one.
    """
    caller, console, given = _of_session(request), console_of(request), await form_of(request)
    present, new, again = (str(given.get(field, "")) for field in ("present", "password", "again"))
    attempt = Attempt(caller.name, console.door.address_of(request), is_known=True)
    if wait_s := console.sign_in_limit.wait_s(attempt, time.monotonic()):
        raise Refused(429, "too_many_attempts", wait_s=wait_s)
    try:
        _require_same(new, again)
        is_right = await change_password(console.pool, caller.name, present, new, session=caller.secret)
    except UsageError as error:
        return _form(request, problem_of(error))
    if not is_right:
        return _form(request, Problem(403, "password_wrong", MESSAGES["password_wrong"]))
    console.sign_in_limit.was_right(attempt, time.monotonic())
    response = redirect(DONE)
    await remember(console.pool, caller.name, response, is_secure=console.own.is_secure)
    return response
