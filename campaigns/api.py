"""Drumbeat for programs: what the commands do, as methods that return values.

    async with open_drumbeat() as drumbeat:
        await drumbeat.apply("spring.toml")
        result = await drumbeat.run("spring")
        result.require_complete()

What cannot be done raises a `DrumbeatError` with `what`, `where`, `remedy` and the exit code that the command
has. If the database goes away later, errors of its driver, asyncpg, come as they are. A NAME may be
the external id.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from drumbeat.campaigns.actor import actor
from drumbeat.campaigns.campaign import Campaign, find_campaign, require_planned
from drumbeat.campaigns.changing.apply import apply_campaign
from drumbeat.campaigns.changing.delete import DeletedCampaign, delete_campaign
from drumbeat.campaigns.changing.derived import cloned, edit_campaign
from drumbeat.campaigns.life import control
from drumbeat.campaigns.life.control import CampaignChange
from drumbeat.campaigns.life.run import RunResult, run_campaign
from drumbeat.campaigns.options.manifest_file import read_manifest
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.options.stored import stored_options
from drumbeat.campaigns.options.values import of_file
from drumbeat.campaigns.planning.change import ChangeRefused
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.campaigns.planning.created import CreatedCampaign
from drumbeat.campaigns.planning.header_uploads import uploads_with
from drumbeat.campaigns.results.export import export_columns, export_rows
from drumbeat.campaigns.results.report import Report, campaign_report
from drumbeat.campaigns.results.status import CampaignStatus, campaign_status
from drumbeat.campaigns.stored_recipients import EVERYBODY, ExportFilter, require_kept
from drumbeat.engine.app import POOL_CONNECTIONS
from drumbeat.engine.core.states import CampaignState, RecipientState
from drumbeat.engine.errors import DrumbeatError, UsageError
from drumbeat.engine.notifications.notifier import notifying
from drumbeat.engine.prepare_database import prepare_database
from drumbeat.engine.process.settings import Settings, load_settings
from drumbeat.engine.store.database import Pool, open_pool
from drumbeat.engine.store.installation import identify

__all__ = [
    "Campaign",
    "CampaignChange",
    "CampaignSpec",
    "CampaignState",
    "CampaignStatus",
    "ChangeRefused",
    "CreatedCampaign",
    "DeletedCampaign",
    "Drumbeat",
    "DrumbeatError",
    "RecipientState",
    "Report",
    "RunResult",
    "open_drumbeat",
]


@asynccontextmanager
async def open_drumbeat(**settings: Any) -> AsyncIterator["Drumbeat"]:
    """Give the installation that `settings` name. Without them, the settings of the environment count, and
    then those of drumbeat.toml.

    This starts the embedded Postgres if no database is named, and brings the database to this version.
    """
    loaded = load_settings(**settings)
    url = await asyncio.to_thread(prepare_database, loaded)
    async with open_pool(url) as pool:
        yield Drumbeat(loaded, url, pool)


@dataclass(frozen=True, slots=True)
class Drumbeat:
    """The methods of one installation, from `open_drumbeat`. All may be called at the same time."""

    settings: Settings
    url: str
    pool: Pool

    async def create(self, spec: CampaignSpec, *, dry_run: bool = False) -> CreatedCampaign:
        """Do what `campaign create` does. `CampaignSpec(name=…, …)` makes `spec`."""
        return await create_campaign(
            self.url,
            spec,
            disk=self.settings.disk(),
            dry_run=dry_run,
            open_uploads=uploads_with(self.settings),
        )

    async def apply(
        self,
        manifest: Path | str,
        *,
        dry_run: bool = False,
        now: bool = False,
        keep_audience: bool = True,
        **changes: Any,
    ) -> CreatedCampaign:
        """Do what `campaign apply` does. `changes` replace keys of the manifest.

        Raise ChangeRefused, which holds the differences, if one of them may not change now.
        """
        path = Path(manifest)
        try:
            spec = CampaignSpec(**read_manifest(path, changes))
            return await apply_campaign(
                self.url,
                spec,
                change_by=actor(),
                disk=self.settings.disk(),
                dry_run=dry_run,
                open_uploads=uploads_with(self.settings),
                now=now,
                keep_audience=keep_audience,
            )
        except UsageError as error:
            raise of_file(error, str(path)) from error

    async def clone(
        self, name: str, new: str, *, unset: Iterable[str] = (), dry_run: bool = False, **changes: Any
    ) -> CreatedCampaign:
        """Do what `campaign clone` does. `changes` and `unset` are keys of a manifest."""
        return await self.create(await cloned(self.pool, name, new, changes, unset), dry_run=dry_run)

    async def edit(
        self,
        name: str,
        *,
        unset: Iterable[str] = (),
        dry_run: bool = False,
        now: bool = False,
        **changes: Any,
    ) -> CreatedCampaign:
        """Do what `campaign edit` does. `changes` and `unset` are keys of a manifest."""
        return await edit_campaign(
            self.url,
            await stored_options(self.pool, name),
            changes,
            unset,
            change_by=actor(),
            disk=self.settings.disk(),
            dry_run=dry_run,
            open_uploads=uploads_with(self.settings),
            now=now,
        )

    async def delete(self, name: str) -> DeletedCampaign:
        """Do what `campaign delete` does, without a question."""
        return await delete_campaign(self.url, name, actor=actor())

    async def campaigns(self, *, tests: bool = False) -> list[Campaign]:
        """List the campaigns as `campaign list` does, the newest first."""
        async with self.pool.acquire() as connection:
            return await control.list_campaigns(connection, tests=tests)

    async def run(
        self,
        name: str,
        *,
        stop: asyncio.Event | None = None,
        wait: bool = False,
        until: datetime | None = None,
        max_failed: str | None = None,
    ) -> RunResult:
        """Do what `campaign run` does: send in this process until nobody is left. Setting `stop` ends the run
        as Ctrl-C does.

        The result says what is missing. Its method `require_complete` raises that as an error.
        """
        service, stop = self.settings.service(), stop or asyncio.Event()
        async with (
            open_pool(self.url, size=POOL_CONNECTIONS, by_key=True, greet=identify) as pool,
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
            )

    async def start(self, name: str) -> CampaignChange:
        """Do what `campaign start` does: hand the campaign to the workers."""
        async with self.pool.acquire() as connection:
            return await control.start(connection, name, actor=actor())

    async def pause(self, name: str) -> CampaignChange:
        """Do what `campaign pause` does."""
        async with self.pool.acquire() as connection:
            return await control.pause(connection, name, actor=actor())

    async def resume(self, name: str, *, now: bool = False) -> CampaignChange:
        """Do what `campaign resume` does, but do not try the access token."""
        async with self.pool.acquire() as connection:
            return await control.resume(connection, name, actor=actor(), now=now)

    async def cancel(self, name: str) -> CampaignChange:
        """Do what `campaign cancel` does."""
        async with self.pool.acquire() as connection:
            return await control.cancel(connection, name, actor=actor())

    async def status(self, name: str) -> CampaignStatus:
        """Return what `campaign status` shows, without the rate, which takes a second to measure."""
        return await campaign_status(self.pool, (await find_campaign(self.pool, name)).campaign_id)

    async def report(self, name: str) -> Report:
        """Return what `campaign report` shows."""
        return await campaign_report(self.pool, (await _planned(self.pool, name)).campaign_id)

    async def recipients(
        self, name: str, *, state: RecipientState | None = None
    ) -> AsyncIterator[dict[str, str]]:
        """Give each recipient by the columns of `campaign export`, in constant memory."""
        campaign_id = (await _planned(self.pool, name)).campaign_id
        await require_kept(self.pool, campaign_id, name)
        columns = await export_columns(self.pool, campaign_id)
        wanted = EVERYBODY if state is None else ExportFilter(states=frozenset({state}))
        async for page in export_rows(self.pool, campaign_id, wanted):
            for row in page:
                yield dict(zip(columns, row, strict=True))


async def _planned(pool: Pool, name: str) -> Campaign:
    campaign = await find_campaign(pool, name)
    require_planned(campaign)
    return campaign
