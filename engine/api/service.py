"""The client of the whole interface: one attribute for each group of its rows."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Self

from drumbeat.engine.api.call_budget import CallBudget, LocalCallBudget
from drumbeat.engine.api.caller import Caller
from drumbeat.engine.api.endpoints.analytics import Analytics
from drumbeat.engine.api.endpoints.media import Media
from drumbeat.engine.api.endpoints.messages import Messages
from drumbeat.engine.api.endpoints.numbers import Numbers, Profiles
from drumbeat.engine.api.endpoints.subscriptions import Subscriptions
from drumbeat.engine.api.endpoints.templates import Templates
from drumbeat.engine.api.trust import trust_of
from drumbeat.engine.core.interface import API_VERSION, PRODUCT
from drumbeat.engine.process.settings import ServiceSettings

CALL_S_MAX = 30.0


class Service:
    """A client of one service with one token. Use it with `async with`, or close it. Needs a running loop.

    `budget` is the budget of management calls. Clients of one account should share it; without it, this
    client has one of its own. `budget_wait_s_max` is the longest time that a call may wait for the budget. A
    longer wait raises TryLater, which names the wait. `call_s` is the longest wait for an answer. `proxy` is
    the URL of an HTTP proxy. `tls` says which certificates are trusted; None: those of the system.
    """

    def __init__(
        self,
        base_url: str,
        token: str,
        *,
        api_version: str = API_VERSION,
        product: str = PRODUCT,
        budget: CallBudget | None = None,
        budget_wait_s_max: float = 0.0,
        call_s: float = CALL_S_MAX,
        proxy: str | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        caller = Caller(
            base_url,
            token,
            api_version,
            budget or LocalCallBudget(),
            wait_s_max=budget_wait_s_max,
            call_s=call_s,
            proxy=proxy,
            tls=tls,
        )
        self.close = caller.close
        self.messages = Messages(caller, product)
        self.media = Media(caller, product)
        self.templates = Templates(caller)
        self.numbers = Numbers(caller, product)
        self.profiles = Profiles(caller, product)
        self.analytics = Analytics(caller)
        self.subscriptions = Subscriptions(caller, product)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def service_of(settings: ServiceSettings, budget: CallBudget | None = None) -> Service:
    """Return the client for these settings. `budget` is the same as for Service."""
    return Service(
        settings.base_url,
        settings.access_token.get_secret_value(),
        api_version=settings.api_version,
        product=settings.product,
        budget=budget,
        proxy=settings.proxy,
        tls=trust_of(settings.ca_file),
    )


@asynccontextmanager
async def uploading(settings: ServiceSettings) -> AsyncIterator[Callable[[str, Path, str], Awaitable[str]]]:
    """Open a client that uploads files, and yield its `Service.media.upload`."""
    async with service_of(settings) as service:
        yield service.media.upload
