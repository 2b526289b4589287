"""The requests of the numbers to the worker of their process: stop a campaign, every campaign, or a number.

A number stops at once when the service refuses a campaign, the account or the number itself. The worker then
stores the stop, so that it is durable and visible to other processes.
"""

import asyncio
from contextlib import suppress

from drumbeat.engine.core.states import CampaignEvent, ReasonCode
from drumbeat.engine.core.stops import AccountStop, CampaignPause, NumberRest, StopRequest
from drumbeat.engine.process.event_log import get_logger
from drumbeat.engine.sending.campaign_cache import CampaignCache
from drumbeat.engine.store.campaign_states import apply_if_allowed
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.number_rests import let_rest

log = get_logger(__name__)


class StopRequests:
    """The stop requests of one process that are not yet in the database."""

    def __init__(self, campaign_cache: CampaignCache) -> None:
        self._campaign_cache = campaign_cache
        self._arrived = asyncio.Event()
        # The key is the value: equal requests may differ in reason.
        self.waiting: dict[StopRequest, StopRequest] = {}

    def add(self, request: StopRequest) -> None:
        """Add a request. An equal one that already waits stays, but a longer rest replaces a shorter one.

        A late reply may refuse the account when every campaign is stopped already. If that request were kept,
        it would pause a campaign that a person resumes next.
        """
        if isinstance(request, AccountStop) and not self._campaign_cache.running:
            return
        waiting = self.waiting.setdefault(request, request)
        if (
            isinstance(waiting, NumberRest)
            and isinstance(request, NumberRest)
            and request.is_longer_than(waiting)
        ):
            self.waiting[request] = request
        self._arrived.set()
        if isinstance(request, AccountStop):
            for campaign_id in self._campaign_cache.running:
                self._campaign_cache.stop(campaign_id)

    def has_rest_for(self, phone_number_id: str) -> bool:
        """Return whether a rest of the number is requested and not yet in the database."""
        return NumberRest(phone_number_id, "", 0.0) in self.waiting

    async def wait(self, timeout_s: float) -> None:
        """Wait until a request arrives, for `timeout_s` at most."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._arrived.wait(), timeout_s)
        self._arrived.clear()

    async def store(self, connection: Connection) -> None:
        for request in list(self.waiting.values()):
            await self._store_one(connection, request)
            if self.waiting.get(request) is request:  # otherwise a longer rest was requested meanwhile
                del self.waiting[request]

    async def _store_one(self, connection: Connection, request: StopRequest) -> None:
        match request:
            case CampaignPause(campaign_id, reason, code):
                await self._pause(connection, campaign_id, reason, code)
            case AccountStop(reason, code):
                for campaign_id in self._campaign_cache.running:
                    await self._pause(connection, campaign_id, reason, code)
            case NumberRest():
                await let_rest(connection, request)

    async def _pause(self, connection: Connection, campaign_id: int, reason: str, code: ReasonCode) -> None:
        log.warning("campaign_paused", **self._campaign_cache.log_fields(campaign_id), reason=reason)
        await apply_if_allowed(connection, campaign_id, CampaignEvent.PAUSE, reason, code)
        self._campaign_cache.end(campaign_id)
