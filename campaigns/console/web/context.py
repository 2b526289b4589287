"""The state that all requests share, and what a request says of itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar, cast

from aiohttp import web

from drumbeat.campaigns.account.at_service import account_service
from drumbeat.campaigns.console.web.access import Caller, Doorkeeper
from drumbeat.campaigns.console.web.cache import Cache
from drumbeat.campaigns.console.web.jobs import Jobs
from drumbeat.campaigns.console.web.open_streams import OpenStreams
from drumbeat.campaigns.console.web.request_limits import WHOLE_READINGS_AT_ONCE, Allowance, RequestLimits
from drumbeat.campaigns.console.web.request_metrics import RequestMetrics
from drumbeat.campaigns.console.web.roles import Role
from drumbeat.campaigns.console.web.settings import ConsoleSettings
from drumbeat.campaigns.console.web.sign_in_limit import SignInLimit
from drumbeat.engine.api.service import Service
from drumbeat.engine.process.settings import Settings
from drumbeat.engine.store.database import Pool

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Part(Protocol):
    """A part of a console that a subject adds, such as the checks under way."""

    async def close(self) -> None: ...


PartT = TypeVar("PartT", bound=Part)


@dataclass(frozen=True, slots=True)
class Console:
    """One console. `database_url`: some work needs sessions of its own. `stop`: set when the console ends.
    `whole_readings`: held while all rows of something large are read. `parts`: by the functions that made
    them.
    """

    pool: Pool
    database_url: str
    settings: Settings
    own: ConsoleSettings
    door: Doorkeeper
    stop: asyncio.Event
    cache: Cache = field(default_factory=Cache)
    jobs: Jobs = field(default_factory=Jobs)
    streams: OpenStreams = field(default_factory=OpenStreams)
    sign_in_limit: SignInLimit = field(default_factory=SignInLimit)
    limits: RequestLimits = field(default_factory=RequestLimits)
    metrics: RequestMetrics = field(default_factory=RequestMetrics)
    whole_readings: asyncio.Semaphore = field(
        default_factory=lambda: asyncio.Semaphore(WHOLE_READINGS_AT_ONCE)
    )
    parts: dict[Callable[..., Any], Part] = field(default_factory=dict)

    def part(self, make: Callable[[Console], PartT]) -> PartT:
        """Return the part that `make` made for this console. The first call makes it."""
        if make not in self.parts:
            self.parts[make] = make(self)
        return cast("PartT", self.parts[make])

    async def close(self) -> None:
        """End the jobs, and what the parts have under way."""
        await self.jobs.close()
        for part in self.parts.values():
            await part.close()

    @asynccontextmanager
    async def account(self) -> AsyncIterator[tuple[Service, str]]:
        """Yield a client of the service and the id of the account. ConfigurationError if the settings lack
        one.
        """
        service, waba_id = self.settings.service(), self.settings.required("waba_id")
        async with account_service(self.pool, service, waba_id) as client:
            yield client, waba_id


@dataclass(frozen=True, slots=True)
class Route:
    """A handler, and the role that it needs; None stands for everybody. `allowance`: how often a caller may
    use it.
    """

    method: str
    path: str
    role: Role | None
    handler: Handler
    allowance: Allowance | None = None


CONSOLE = web.AppKey("console", Console)
_CALLER: web.RequestKey[Caller | None] = web.RequestKey("caller", Caller)
_OWN_NAME: web.RequestKey[str] = web.RequestKey("own_name", str)


def console_of(request: web.Request) -> Console:
    return request.app[CONSOLE]


def set_caller(request: web.Request, caller: Caller | None) -> None:
    request[_CALLER] = caller


def caller_of(request: web.Request) -> Caller:
    """Return the caller, on a route that needs a role."""
    caller = maybe_caller(request)
    assert caller is not None, "a route with a role has a caller"
    return caller


def maybe_caller(request: web.Request) -> Caller | None:
    return request.get(_CALLER)


def set_own_name(request: web.Request, name: str) -> None:
    """Store the own name of the thing that the address names by that or by another name."""
    request[_OWN_NAME] = name


def name_of(request: web.Request) -> str:
    """Return the name in the address: the thing's own name, once that is known."""
    return request.get(_OWN_NAME) or request.match_info["name"]


def own_path(request: web.Request) -> str:
    """Return the path of the request with the thing's own name. So work that is done once for a path is done
    once for a thing, whichever of its names the request has.
    """
    resource = request.match_info.route.resource
    if (name := request.get(_OWN_NAME)) is None or resource is None:
        return request.path
    return resource.canonical.format(**{**request.match_info, "name": name})


def wants_head(request: web.Request) -> bool:
    """Return whether the request wants the head of a reply alone. A long reply need not be made for it."""
    return request.method == "HEAD"


def has_left(request: web.Request) -> bool:
    """Return whether the client has closed the connection. Then nobody reads the rest of the reply."""
    return request.transport is None or request.transport.is_closing()
