"""The pages to sign in and out, and to choose the language."""

from __future__ import annotations

import time

from aiohttp import web

from drumbeat.campaigns.console.web.context import Console, console_of, maybe_caller
from drumbeat.campaigns.console.web.forms import field_of, form_of
from drumbeat.campaigns.console.web.known_browsers import is_known, remember
from drumbeat.campaigns.console.web.language import COOKIE as LANGUAGE_COOKIE
from drumbeat.campaigns.console.web.language import LANGUAGES
from drumbeat.campaigns.console.web.problems import MESSAGES, Problem, Refused
from drumbeat.campaigns.console.web.rendering import page, redirect
from drumbeat.campaigns.console.web.sign_in_limit import Attempt
from drumbeat.campaigns.console.web.users import SESSION_S, end_session, sign_in
from drumbeat.engine.process.event_log import get_logger

NAME_LENGTH_MAX = 64  # of a user: a longer one must not fill the memory of the limit
YEAR_S = 365 * 24 * 3600

log = get_logger(__name__)


async def show_sign_in(request: web.Request) -> web.Response:
    if maybe_caller(request) is not None:
        return redirect("/")
    return _form(request)


def _form(request: web.Request, problem: Problem | None = None) -> web.Response:
    provider = console_of(request).own.provider
    return page(request, "sign_in.html.j2", problem=problem, then=then_of(request), provider=provider)


def then_of(request: web.Request) -> str:
    """Return the address to go to afterwards: a path of ours, so that a link cannot lead elsewhere."""
    then = request.query.get("then", "/")
    is_ours = then.startswith("/") and not then.startswith(("//", "/\\"))
    return then if is_ours and then.isprintable() else "/"


async def enter(request: web.Request) -> web.Response:
    """Start a session. Only wrong passwords count, and a browser that is known has attempts of its own."""
    console, name = console_of(request), await field_of(request, "name")
    password = str((await form_of(request)).get("password", ""))
    address, is_secure = console.door.address_of(request), console.own.is_secure
    known = await is_known(console.pool, name, request, is_secure=is_secure)
    attempt = Attempt(name[:NAME_LENGTH_MAX], address, known)
    if wait_s := console.sign_in_limit.wait_s(attempt, time.monotonic()):
        raise Refused(429, "too_many_attempts", wait_s=wait_s)
    secret = await sign_in(console.pool, name, password)
    if secret is None:
        log.warning("sign_in_refused", address=address)
        return _form(request, Problem(403, "sign_in_refused", MESSAGES["sign_in_refused"]))
    console.sign_in_limit.was_right(attempt, time.monotonic())
    response = redirect(then_of(request))
    begin_session_cookie(console, response, secret)
    await remember(console.pool, name, response, is_secure=is_secure)
    return response


def begin_session_cookie(console: Console, response: web.Response, secret: str) -> None:
    response.set_cookie(
        console.door.cookie,
        secret,
        max_age=SESSION_S,
        httponly=True,
        secure=console.own.is_secure,
        samesite="Lax",
        path="/",
    )


async def leave(request: web.Request) -> web.Response:
    console = console_of(request)
    if secret := request.cookies.get(console.door.cookie):
        await end_session(console.pool, secret)
    response = redirect("/sign-in")
    response.del_cookie(console.door.cookie, path="/", secure=console.own.is_secure, httponly=True)
    return response


async def choose(request: web.Request) -> web.Response:
    """Keep the language that was chosen, and show the same page in it."""
    response, code = redirect(then_of(request)), await field_of(request, "language")
    if code in LANGUAGES:
        response.set_cookie(LANGUAGE_COOKIE, code, max_age=YEAR_S, samesite="Lax", path="/", httponly=True)
    return response
