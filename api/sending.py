"""The methods that send, stop and settle."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, Literal

from drumbeat.api.installation import Installation, reported
from drumbeat.campaigns.actor import actor
from drumbeat.campaigns.changing.send_message import (
    SentToOne,
    message_spec,
    new_name,
    plan_message,
    run_message,
)
from drumbeat.campaigns.life import control
from drumbeat.campaigns.life.control import CampaignChange
from drumbeat.campaigns.life.release import approve_checked, resume_checked, start_checked
from drumbeat.campaigns.life.run import RunResult, run_campaign
from drumbeat.campaigns.life.settle import Settled, settle_campaign
from drumbeat.campaigns.planning.header_uploads import uploads_with
from drumbeat.campaigns.preview.recipient import Choice, choose_recipient
from drumbeat.campaigns.preview.test_send import own_phones, plan_tests
from drumbeat.engine.app import POOL_CONNECTIONS
from drumbeat.engine.errors import UsageError
from drumbeat.engine.notifications.notifier import notifying
from drumbeat.engine.store.database import Pool, open_pool
from drumbeat.engine.store.installation import identify
from drumbeat.engine.store.lost_time import LOST_S_MAX


class Sending(Installation):
    """The methods while something is sent."""

    __slots__ = ()

    @reported
    async def run(
        self,
        name: str,
        *,
        stop: asyncio.Event | None = None,
        wait: bool = False,
        until: datetime | None = None,
        max_failed: str | None = None,
        settle_timeout_s: float | None = None,
    ) -> RunResult:
        """Send in this process until nobody is left, as `campaign run` does. Setting `stop` ends the run as
        Ctrl-C does. With `settle_timeout_s`, it waits so long for the last statuses.

        The result says what is missing. Its method `require_complete` raises that as an error.
        """
        service, stop = self.settings.service(), stop or asyncio.Event()
        async with (
            self._sender_pool() as pool,
            notifying(pool, self.settings.notifications(), stop),
        ):
            return await run_campaign(
                pool,
                service,
                name,
                stop=stop,
                wait=wait,
                disk=self.settings.disk(),
                max_failed=max_failed,
                until=until,
                settle_timeout_s=settle_timeout_s,
            )

    @reported
    async def start(self, name: str) -> CampaignChange:
        """Hand the campaign to the workers, as `campaign start` does. Its templates are compared first."""
        (change,) = (await start_checked(self.pool, self.settings, name, actor=actor())).changes
        return change

    @reported
    async def pause(self, name: str) -> CampaignChange:
        """Stop sending, as `campaign pause` does. Running processes follow within a second."""
        async with self.pool.acquire() as connection:
            return await control.pause(connection, name, actor=actor())

    @reported
    async def resume(self, name: str, *, now: bool = False) -> CampaignChange:
        """Lift a pause, as `campaign resume` does. A token that was refused is tried first."""
        released = await resume_checked(self.pool, self.settings, name, actor=actor(), now=now)
        (change,) = released.changes
        return change

    @reported
    async def approve(self, name: str) -> CampaignChange:
        """Approve the canary of a campaign, as `campaign approve` does."""
        (change,) = (await approve_checked(self.pool, self.settings, name, actor=actor())).changes
        return change

    @reported
    async def cancel(self, name: str) -> CampaignChange:
        """End the campaign for good, as `campaign cancel` does. Recipients not sent to are skipped."""
        async with self.pool.acquire() as connection:
            return await control.cancel(connection, name, actor=actor())

    @reported
    async def settle(
        self,
        name: str,
        action: Literal["resend", "assume-sent", "lost-time"] | None = None,
        *,
        lost_s: int | None = None,
    ) -> Settled:
        """Return who is in doubt. Or queue another message to them, or take them as sent, before.

        With `lost-time`, put in doubt everybody whom the campaign may have sent to in the `lost_s` seconds
        that a restored database does not know.

        Nothing is sent here: `run`, or a worker, sends what is queued.
        """
        fits = 1 <= (lost_s or 0) <= LOST_S_MAX if action == "lost-time" else lost_s is None
        if not fits:
            raise UsageError(
                "lost_s goes with the action lost-time, and only with it",
                remedy=f"give 1 to {LOST_S_MAX} seconds with it",
            )
        return await settle_campaign(
            self.pool, name, action, self.settings.silence_s, lost_s=lost_s or 0, actor=actor()
        )

    @reported
    async def test_send(
        self, name: str, to: str | Sequence[str], *, row: int | None = None
    ) -> list[SentToOne]:
        """Send the campaign's message to your own phones, as `campaign test-send` does. Each call sends."""
        service, disk = self.settings.service(), self.settings.disk()
        chosen = await choose_recipient(self.pool, name, Choice(row))
        phones = own_phones([to] if isinstance(to, str) else list(to), chosen.options.get("region"))
        uploads = uploads_with(self.settings)
        tests = await plan_tests(self.url, chosen, phones, disk=disk, open_uploads=uploads)
        async with self._sender_pool() as pool:
            return [await run_message(pool, service, test, stop=asyncio.Event(), disk=disk) for test in tests]

    @reported
    async def send(
        self,
        to: str,
        *,
        number: str,
        template: str | None = None,
        language: str | None = None,
        params: Sequence[str] = (),
        text: str | None = None,
        message: Mapping[str, Any] | None = None,
        reply_to: str | None = None,
        region: str | None = None,
        header_link: str | None = None,
        header_media_id: str | None = None,
        header_filename: str | None = None,
        name: str | None = None,
    ) -> SentToOne:
        """Send one message to one person, as `message send` does, and return the result.

        Give one of `template` (with `language`), `text` and `message`, which is the object of any other type.
        With a `name`, the call may be repeated: the message is sent once. The result's `problem` says why the
        service has not accepted it.
        """
        spec = message_spec(
            name or new_name(),
            number=number,
            template=template,
            language=language,
            params=params,
            text=text,
            message=message,
            reply_to=reply_to,
            region=region,
            header_link=header_link,
            header_media_id=header_media_id,
            header_filename=header_filename,
        )
        service, disk = self.settings.service(), self.settings.disk()
        await plan_message(self.url, spec, to, disk=disk)
        async with self._sender_pool() as pool:
            return await run_message(pool, service, spec.name, stop=asyncio.Event(), disk=disk)

    @asynccontextmanager
    async def _sender_pool(self) -> AsyncIterator[Pool]:
        async with open_pool(self.url, size=POOL_CONNECTIONS, by_key=True, greet=identify) as pool:
            yield pool
