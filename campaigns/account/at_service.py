"""The client of the service for what commands and the console change or read of the account."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from drumbeat.engine.process.settings import ServiceSettings, read_secret
from drumbeat.engine.store.call_budget import SharedCallBudget
from drumbeat.engine.store.database import Pool

if TYPE_CHECKING:
    from drumbeat.engine.api.service import Service


@asynccontextmanager
async def account_service(pool: Pool, settings: ServiceSettings, waba_id: str) -> AsyncIterator[Service]:
    """Give a client for one account. All processes of the database share its budget of management calls. If
    the file of the token is replaced, the new token is used at once.
    """
    from drumbeat.engine.api.call_budget import (  # imports aiohttp, a third of a command's start
        BURST,
        CALL_EVERY_S,
    )
    from drumbeat.engine.api.service import service_of

    if settings.access_token_file is not None:
        settings = replace(settings, access_token=read_secret("access_token", settings.access_token_file))
    budget = SharedCallBudget(pool, waba_id, burst=BURST, call_every_s=CALL_EVERY_S)
    async with service_of(settings, budget) as client:
        yield client
