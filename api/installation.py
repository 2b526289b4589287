"""The installation on which the methods of the client work, and the frame around each of them."""

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from drumbeat.campaigns.campaign import Campaign, find_campaign, require_planned
from drumbeat.campaigns.database_errors import database_blamed
from drumbeat.campaigns.stored_recipients import require_kept
from drumbeat.engine.process.settings import Settings
from drumbeat.engine.store.database import Pool

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Client = TypeVar("Client", bound="Installation")


@dataclass(frozen=True, slots=True)
class Installation:
    """The settings and the database of one installation."""

    settings: Settings
    url: str
    pool: Pool

    async def _kept(self, name: str) -> Campaign:
        """Return a planned campaign whose recipients are still stored."""
        campaign = await find_campaign(self.pool, name)
        require_planned(campaign)
        await require_kept(self.pool, campaign.campaign_id, campaign.name)
        return campaign


def reported(
    method: Callable[Concatenate[Client, Arguments], Awaitable[Result]],
) -> Callable[Concatenate[Client, Arguments], Coroutine[Any, Any, Result]]:
    """Turn failures of the database into errors of Drumbeat that name it."""

    @wraps(method)
    async def run(self: Client, /, *positional: Arguments.args, **named: Arguments.kwargs) -> Result:
        with database_blamed(self.url):
            return await method(self, *positional, **named)

    return run
