"""The pages that lead to an OpenID provider to sign in there, and back with a session."""

from __future__ import annotations

import time

from aiohttp import web

from drumbeat.campaigns.console.account.signing import begin_session_cookie, then_of
from drumbeat.campaigns.console.web.context import Console, console_of
from drumbeat.campaigns.console.web.oidc_flow import (
    BEGUN_S_MAX,
    Begun,
    Client,
    NotTrusted,
    ProviderAway,
    begin,
    opened,
)
from drumbeat.campaigns.console.web.oidc_rules import NotAllowed, Provider, name_in, role_in
from drumbeat.campaigns.console.web.problems import Refused
from drumbeat.campaigns.console.web.rendering import redirect
from drumbeat.campaigns.console.web.request_limits import PROVIDER_SIGN_INS, network_of
from drumbeat.campaigns.console.web.users import begin_session, end_sessions_of, find_user, store_user
from drumbeat.engine.process.event_log import get_logger

COOKIE = "drumbeat_provider"
SECURE_COOKIE = "__Host-drumbeat_provider"
ACTOR = "sign-in provider"
CODE_CHARACTERS_MAX = 4_096

log = get_logger(__name__)


async def lead(request: web.Request) -> web.Response:
    """Lead the browser to the provider."""
    console, provider = _known(request)
    _spend(request)
    begun = begin(then_of(request))
    try:
        address = await _client(console, provider).address(begun)
    except (NotTrusted, ProviderAway) as error:
        raise _refused(request, error) from None
    response = redirect(address)
    response.set_cookie(
        _cookie(console),
        begun.sealed(console.door.key),
        max_age=int(BEGUN_S_MAX),
        httponly=True,
        secure=console.own.is_secure,
        samesite="Lax",  # the provider leads back from another site
        path="/",
    )
    return response


async def come_back(request: web.Request) -> web.Response:
    """Begin a session for the person whom the provider names. The cookie counts once."""
    console, provider = _known(request)
    _spend(request)
    try:
        begun = opened(
            request.cookies.get(_cookie(console), ""), request.query.get("state", ""), console.door.key
        )
        name = await _admitted(console, provider, begun, request)
    except (NotTrusted, ProviderAway, NotAllowed) as error:
        raise _refused(request, error) from None
    secret = await begin_session(console.pool, name)
    response = redirect(begun.then)
    begin_session_cookie(console, response, secret)
    response.del_cookie(_cookie(console), path="/", secure=console.own.is_secure, httponly=True)
    return response


async def _admitted(console: Console, provider: Provider, begun: Begun, request: web.Request) -> str:
    """Return the name of the user who may enter, with the role that the provider's groups give."""
    code = request.query.get("code", "")
    if request.query.get("iss", provider.issuer) != provider.issuer:  # RFC 9207
        raise NotTrusted("another provider answered")
    if not code or len(code) > CODE_CHARACTERS_MAX:
        raise NotTrusted("the provider sent no code: the person may not have agreed")
    claims = await _client(console, provider).claims(begun, code)
    name = name_in(claims, provider)
    known = await find_user(console.pool, name)
    try:
        role = role_in(claims, provider, known)
    except NotAllowed:
        if known is not None:
            await end_sessions_of(console.pool, name, actor=ACTOR)
        raise
    if role is not known:
        await store_user(console.pool, name, role, None, actor=ACTOR)
    return name


def _known(request: web.Request) -> tuple[Console, Provider]:
    console = console_of(request)
    if console.own.provider is None:
        raise Refused(404, "not_found")
    return console, console.own.provider


def _client(console: Console, provider: Provider) -> Client:
    return Client(provider, console.settings.ca_file)


def _cookie(console: Console) -> str:
    return SECURE_COOKIE if console.own.is_secure else COOKIE


def _spend(request: web.Request) -> None:
    """Anybody may ask, and each request asks the provider."""
    console = console_of(request)
    address = network_of(console.door.address_of(request))
    if wait_s := console.limits.wait_s(PROVIDER_SIGN_INS, address, time.monotonic()):
        raise Refused(429, "too_many_attempts", wait_s=wait_s)


def _refused(request: web.Request, error: Exception) -> Refused:
    address = console_of(request).door.address_of(request)
    log.warning("provider_sign_in_refused", address=address, reason=str(error))
    if isinstance(error, ProviderAway):
        return Refused(503, "provider_away")
    return Refused(403, "no_user" if isinstance(error, NotAllowed) else "provider_refused")
