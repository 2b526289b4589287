"""The methods that say what happened."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from drumbeat.api.installation import Installation, reported
from drumbeat.campaigns.campaign import Campaign, find_campaign, require_planned
from drumbeat.campaigns.database_errors import database_blamed
from drumbeat.campaigns.life.control import LISTED_MAX, list_campaigns
from drumbeat.campaigns.output.output_file import output_file
from drumbeat.campaigns.results.export import COLUMNS, export_columns, export_values
from drumbeat.campaigns.results.export_files import ExportForm, form_of
from drumbeat.campaigns.results.export_writing import write_export
from drumbeat.campaigns.results.person import Person, PersonCampaign, read_person, read_spellings
from drumbeat.campaigns.results.report import Report, campaign_report
from drumbeat.campaigns.results.status import FINAL_STATES, CampaignStatus, campaign_status
from drumbeat.campaigns.stored_recipients import ExportFilter
from drumbeat.engine.core.states import CampaignState, RecipientState
from drumbeat.engine.errors import NotFound

LOOK_S = 1.0


@dataclass(frozen=True, slots=True)
class Recipient:
    """A recipient of a campaign. `phone` has a plus; `row` is that of the audience.

    `code` is the service's error code of a failed one, `reason` its meaning, `detail` the service's words.
    `values` are those of the template's variables, by the columns of the audience.
    """

    phone: str
    state: RecipientState
    code: int | None
    reason: str | None
    row: int
    wamid: str | None
    phone_number_id: str | None
    attempted_at: datetime | None
    sent_at: datetime | None
    delivered_at: datetime | None
    read_at: datetime | None
    failed_at: datetime | None
    language: str
    variant: str
    detail: str | None
    values: Mapping[str, str]


class Results(Installation):
    """The methods that read, and change nothing."""

    __slots__ = ()

    @reported
    async def campaigns(
        self,
        *,
        tests: bool = False,
        state: CampaignState | None = None,
        since: datetime | None = None,
        limit: int = LISTED_MAX,
    ) -> list[Campaign]:
        """Return the campaigns as `campaign list` does, the newest first."""
        async with self.pool.acquire() as connection:
            return await list_campaigns(connection, tests=tests, state=state, since=since, limit=limit)

    @reported
    async def status(self, name: str) -> CampaignStatus:
        """Return what `campaign status` shows, without the rate, which takes a second to measure."""
        return await campaign_status(self.pool, (await find_campaign(self.pool, name)).campaign_id)

    async def watch(
        self, name: str, *, period_s: float = LOOK_S, timeout_s: float | None = None
    ) -> AsyncIterator[CampaignStatus]:
        """Give the status now and after each change, whichever process sends.

        It ends when the campaign is over and every message is read, delivered, failed or skipped, or after
        `timeout_s`. A message to a phone that is switched off stays sent for days.
        """
        loop = asyncio.get_running_loop()
        deadline = None if timeout_s is None else loop.time() + timeout_s
        campaign_id = (await self._found(name)).campaign_id
        last: CampaignStatus | None = None
        while True:
            with database_blamed(self.url):
                status = await campaign_status(self.pool, campaign_id)
            if status != last:
                yield status
            last = status
            if status.state in FINAL_STATES and not status.unsettled:
                return
            left_s = period_s if deadline is None else min(period_s, deadline - loop.time())
            if left_s <= 0:
                return
            await asyncio.sleep(left_s)

    @reported
    async def report(self, name: str) -> Report:
        """Return what `campaign report` shows."""
        campaign = await find_campaign(self.pool, name)
        require_planned(campaign)
        return await campaign_report(self.pool, campaign.campaign_id)

    async def recipients(
        self,
        name: str,
        *,
        state: RecipientState | Iterable[RecipientState] = (),
        codes: Iterable[int] = (),
        numbers: Iterable[str] = (),
    ) -> AsyncIterator[Recipient]:
        """Give each recipient of a campaign, in constant memory. No filter means everybody."""
        states = [state] if isinstance(state, RecipientState) else state
        wanted = ExportFilter(frozenset(states), frozenset(codes), frozenset(numbers))
        with database_blamed(self.url):
            campaign_id = (await self._kept(name)).campaign_id
            columns = await export_columns(self.pool, campaign_id)
        pages = export_values(self.pool, campaign_id, wanted)
        while True:
            with database_blamed(self.url):
                page = await anext(pages, None)
            if page is None:
                return
            for row in page:
                yield _recipient(columns, row)

    @reported
    async def recipient(self, name: str, phone: str, *, region: str | None = None) -> PersonCampaign:
        """Return one recipient of a campaign with each attempt and status. NotFound if there is none."""
        campaign = await find_campaign(self.pool, name)
        for found in (await self._person(phone, region)).campaigns:
            if found.campaign == campaign.name:
                return found
        raise NotFound(f'the phone is no recipient of "{campaign.name}"', remedy="check the phone")

    @reported
    async def person(self, phone: str, *, region: str | None = None) -> Person:
        """Return what happened to one person over all campaigns, as `person show` does."""
        return await self._person(phone, region)

    @reported
    async def export(
        self,
        name: str,
        path: Path | str,
        *,
        form: ExportForm | None = None,
        state: RecipientState | Iterable[RecipientState] = (),
    ) -> int:
        """Write the recipients to a file, as `campaign export` does; return how many. It appears whole or
        not at all, and only its owner can read it.

        Its form is that of the file's name, unless `form` says another.
        """
        states = frozenset([state] if isinstance(state, RecipientState) else state)
        campaign, chosen = await self._kept(name), form_of(form, Path(path))
        target = output_file(Path(path))
        try:
            with os.fdopen(await asyncio.to_thread(target.open), "wb") as file:
                rows = await write_export(
                    self.pool, campaign, file, chosen, ExportFilter(states), in_thread=True
                )
            target.publish()
        finally:
            target.drop()
        return rows

    @reported
    async def _found(self, name: str) -> Campaign:
        return await find_campaign(self.pool, name)

    async def _person(self, phone: str, region: str | None) -> Person:
        spellings = read_spellings(phone, region)
        async with self.pool.acquire() as connection:
            return await read_person(connection, spellings)


def _recipient(columns: list[str], row: list[Any]) -> Recipient:
    cells = dict(zip(columns, row, strict=True))
    values = {column: str(cells[column]) for column in columns[len(COLUMNS) :]}
    return Recipient(
        phone=cells["phone"],
        state=RecipientState(cells["state"]),
        code=cells["code"],
        reason=cells["reason"],
        row=cells["line"],
        wamid=cells["wamid"],
        phone_number_id=cells["phone_number_id"],
        attempted_at=cells["attempted_at"],
        sent_at=cells["sent_at"],
        delivered_at=cells["delivered_at"],
        read_at=cells["read_at"],
        failed_at=cells["failed_at"],
        language=cells["language"],
        variant=cells["variant"],
        detail=cells["detail"],
        values=MappingProxyType(values),
    )
