"""The state and the types that the handlers of requests share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

from drumbeat.campaigns.account.at_service import account_service
from drumbeat.campaigns.console.campaigns.live import CampaignWatch
from drumbeat.campaigns.console.new.list_check import ListChecks
from drumbeat.campaigns.console.web.access import Caller, Doorkeeper
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


@dataclass(frozen=True, slots=True)
class Console:
    """One console. `database_url`: planning needs sessions of its own. `stop`: set when the console ends.
    `whole_readings`: held while all recipients of a campaign are read.
    """

    pool: Pool
    database_url: str
    settings: Settings
    own: ConsoleSettings
    door: Doorkeeper
    watch: CampaignWatch
    stop: asyncio.Event
    jobs: Jobs = field(default_factory=Jobs)
    streams: OpenStreams = field(default_factory=OpenStreams)
    sign_in_limit: SignInLimit = field(default_factory=SignInLimit)
    checks: ListChecks = field(default_factory=ListChecks)
    limits: RequestLimits = field(default_factory=RequestLimits)
    metrics: RequestMetrics = field(default_factory=RequestMetrics)
    whole_readings: asyncio.Semaphore = field(
        default_factory=lambda: asyncio.Semaphore(WHOLE_READINGS_AT_ONCE)
    )

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
_CAMPAIGN: web.RequestKey[str] = web.RequestKey("campaign", str)


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


def set_campaign(request: web.Request, name: str) -> None:
    """Store the campaign's own name in the request. The address names the campaign by that or by its external
    id.
    """
    request[_CAMPAIGN] = name


def campaign_name(request: web.Request) -> str:
    """Return the name of the campaign in the address: its own name, once that is known."""
    return request.get(_CAMPAIGN) or request.match_info["name"]


def own_path(request: web.Request) -> str:
    """Return the path of the request with the campaign's own name. So work that is done once for a path is
    done once for a campaign, whichever of its names the request has.
    """
    if (name := request.get(_CAMPAIGN)) is None:
        return request.path
    return request.path.replace(f"/campaigns/{request.match_info['name']}", f"/campaigns/{name}", 1)


def has_left(request: web.Request) -> bool:
    """Return whether the client has closed the connection. Then nobody reads the rest of the reply."""
    return request.transport is None or request.transport.is_closing()
