"""The check of a request: who makes it (by session, token, proxy or this machine) and what its role allows.

Law: a request that changes something shows that it comes from our own page, by its Origin and by a token that
only our pages hold. A program with a token of its own need not show it: no browser sends that token by
itself.
"""

from __future__ import annotations

import hmac
import time
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple
from urllib.parse import urlsplit

from aiohttp import web

from drumbeat.campaigns.actor import actor
from drumbeat.campaigns.console.web.problems import Refused
from drumbeat.campaigns.console.web.request_limits import TOKEN_FAILURES, Buckets, network_of
from drumbeat.campaigns.console.web.roles import Role, permits
from drumbeat.campaigns.console.web.settings import ConsoleSettings
from drumbeat.campaigns.console.web.users import any_user, digest, find_token, find_user, open_session
from drumbeat.engine.store.database import Pool

SAFE_METHODS = frozenset({"GET", "HEAD"})
CSRF_FIELD = "csrf"
CSRF_HEADER = "X-CSRF-Token"
COOKIE = "drumbeat_session"
SECURE_COOKIE = "__Host-drumbeat_session"  # a browser takes it only over HTTPS, and for this host alone


class Via(StrEnum):
    """The way by which a caller is known."""

    MACHINE = "machine"
    SESSION = "session"
    PROXY = "proxy"
    TOKEN = "token"  # noqa: S105


@dataclass(frozen=True, slots=True)
class Caller:
    """A person or program that makes a request. `name` is written to the audit. `secret` is the session's,
    and empty without a session. `made_by` is the person who made the token, if the caller has one.
    """

    name: str
    role: Role
    via: Via
    secret: str = ""
    made_by: str | None = None

    @property
    def person(self) -> str:
        """Return the person behind the request."""
        return self.made_by or self.name

    def may(self, needed: Role) -> bool:
        return permits(self.role, needed)


class Refusal(NamedTuple):
    """The reason why a request is refused: its HTTP status, and the code of the problem."""

    status: int
    code: str


class Doorkeeper:
    """The check that knows callers. Each server has one; `key` makes the tokens of its pages."""

    def __init__(self, pool: Pool, settings: ConsoleSettings, key: bytes) -> None:
        self._pool = pool
        self._settings = settings
        self._key = key
        self._wrong_tokens = Buckets()
        self._known: set[bytes] = set()  # hashes of tokens that were right: no more than there are tokens

    @property
    def key(self) -> bytes:
        """Return the key with which the console signs what browsers keep for it."""
        return self._key

    @property
    def cookie(self) -> str:
        return SECURE_COOKIE if self._settings.is_secure else COOKIE

    async def caller(self, request: web.Request, *, used: bool = True) -> Caller | None:
        """Return the caller, or None if the request has no valid session or token. `used` is true if a person
        made the request; that keeps the session open.
        """
        scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return await self._of_token(request, secret.strip())
        if self._settings.user_header is not None and self._settings.is_proxy(request.remote):
            return await self._of_proxy(request)
        if cookie := request.cookies.get(self.cookie):
            session = await open_session(self._pool, cookie, used=used)
            return None if session is None else Caller(session.name, session.role, Via.SESSION, cookie)
        return await self._of_machine(request)

    async def _of_token(self, request: web.Request, secret: str) -> Caller | None:
        """Return the caller of a token, or None. After many wrong tokens an address is refused for a while. A
        token that was right before is not slowed down: many programs may share an address with one whose
        token is old.
        """
        address = {network_of(self.address_of(request)): TOKEN_FAILURES}
        hashed, now_s = digest(secret), time.monotonic()
        if hashed not in self._known and (wait_s := self._wrong_tokens.look_s(address, now_s)):
            raise Refused(429, "too_many_requests", wait_s=wait_s)
        found = await find_token(self._pool, secret)
        if found is None:
            self._known.discard(hashed)
            self._wrong_tokens.spend(address, now_s)
            return None
        self._known.add(hashed)
        name, role, made_by = found
        return Caller(f"token {name}", role, Via.TOKEN, made_by=made_by)

    def address_of(self, request: web.Request) -> str:
        """Return the address of the caller, behind our proxies."""
        return self._settings.address_of(request.remote, request.headers.getall("X-Forwarded-For", ()))

    async def _of_proxy(self, request: web.Request) -> Caller | None:
        assert self._settings.user_header is not None
        name = request.headers.get(self._settings.user_header, "")
        role = await find_user(self._pool, name) if name else None
        return None if role is None else Caller(name, role, Via.PROXY)

    async def _of_machine(self, request: web.Request) -> Caller | None:
        """Return the caller on this machine, or None. Without users the console serves this machine alone,
        whose users can read the database anyway. The last user may be removed while the console listens on
        other addresses, or behind a proxy of this machine.
        """
        is_here = self._settings.is_this_machine(request.host, request.remote)
        has_people = self._settings.user_header is not None or self._settings.provider is not None
        if has_people or not is_here or await any_user(self._pool):
            return None
        return Caller(actor(), Role.MANAGE, Via.MACHINE)

    def csrf(self, caller: Caller | None) -> str:
        """Return the token that a form of this caller holds. Another site cannot read it from our pages."""
        if caller is None:
            return ""
        bound = f"{caller.via}\n{caller.name}\n{caller.secret}".encode()
        return hmac.digest(self._key, bound, "sha256").hex()

    def is_own_form(self, caller: Caller, given: str) -> bool:
        return caller.via is Via.TOKEN or hmac.compare_digest(self.csrf(caller).encode(), given.encode())

    def refuse(self, request: web.Request, caller: Caller | None, needed: Role | None) -> Refusal | None:
        """Return why the request is refused, or None, before its body is read. If `needed` is None, everybody
        may make it.
        """
        if not self._settings.serves_host(request.host):
            return Refusal(421, "wrong_host")
        if needed is not None and caller is None:
            return Refusal(401, "sign_in_needed")  # before its Origin: a program without a token sends none
        changes = request.method not in SAFE_METHODS
        is_program = caller is not None and caller.via is Via.TOKEN
        if changes and not is_program and not _is_same_origin(request):
            return Refusal(403, "foreign_origin")
        if needed is None or caller is None:
            return None
        return None if caller.may(needed) else Refusal(403, "role_too_low")


def _is_same_origin(request: web.Request) -> bool:
    """Return whether the request comes from our own page. Browsers name the origin of every request that
    changes something.
    """
    origin = request.headers.get("Origin", "")
    try:
        return bool(origin) and urlsplit(origin).netloc == request.host
    except ValueError:  # of brackets that are no address
        return False
