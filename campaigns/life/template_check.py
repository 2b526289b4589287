"""A comparison of a campaign's templates with the service's before the campaign is released. A template that
changed or is paused is refused before anybody's message fails.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime

from drumbeat.campaigns.campaign import Campaign
from drumbeat.campaigns.life.category import require_planned_categories
from drumbeat.campaigns.life.header_link import look_at_links
from drumbeat.campaigns.sql import statements
from drumbeat.engine.core.template.campaign_template import CampaignTemplate, frozen_templates
from drumbeat.engine.core.template.changes import Definitions, misfit_text, template_changes
from drumbeat.engine.core.template.status import stopped_templates
from drumbeat.engine.errors import ConfigurationError, DrumbeatError, TryLater
from drumbeat.engine.process.settings import ServiceSettings, Settings
from drumbeat.engine.sending.listed_templates import read_templates, stored_statuses, stored_templates
from drumbeat.engine.store.call_budget import SharedCallBudget
from drumbeat.engine.store.database import Pool

# A run owns its numbers meanwhile, and their leases of 5 s must be renewed in time.
ASK_S_MAX = 3.0


class TemplateStopped(TryLater):
    """The service does not send a template of the campaign now."""


class TemplateCheck:
    """A check of templates for one command. `notes` are sentences that a person should read."""

    def __init__(self, pool: Pool, service: ServiceSettings | None) -> None:
        """Take the pool and the service; `service` None means that the settings do not name it."""
        self._pool = pool
        self._service = service
        self._known: dict[str, Definitions] = {}  # by name: several campaigns may have the same template
        self._unasked: set[str] = set()  # names for which only the stored templates are known
        self._statuses: dict[
            tuple[str, str], str
        ] = {}  # by name and language, for the names that the service was asked for
        self.notes: list[str] = []

    async def __call__(self, campaign: Campaign) -> None:
        """Raise ConfigurationError if the service would refuse the campaign's messages, or if it was not
        started yet and a template has another category than at its plan. Raise TemplateStopped if it refuses
        only while a template is paused, disabled or rejected.
        """
        stored = await self._pool.fetchval(statements("report")["templates"], campaign.campaign_id)
        try:
            frozen = [each for each in frozen_templates(stored) if each.message is None]
        except (KeyError, TypeError):
            return  # the sender pauses a campaign that cannot be read
        changes = template_changes(frozen, await self._definitions(frozen))
        if changes.misfits:
            raise ConfigurationError(
                f'the campaign "{campaign.name}" cannot be sent: {misfit_text(changes)}',
                remedy="restore the template at the service, or create a campaign for those still pending",
            )
        if stopped := stopped_templates(frozen, self._statuses):
            raise TemplateStopped(
                f'the campaign "{campaign.name}" cannot be sent: {stopped.text}', remedy=stopped.remedy
            )
        if campaign.started_at is None:
            await require_planned_categories(self._pool, campaign.campaign_id, campaign.name, frozen)
        await self._look_at_links(campaign, frozen)
        self.notes += [f"{what} has another text now, which its messages get" for what in changes.texts]

    async def _look_at_links(self, campaign: Campaign, templates: Sequence[CampaignTemplate]) -> None:
        """Raise ConfigurationError if the link of a header cannot be shown. One that cannot be asked, or that
        ends early, is a note, and so is any problem of a campaign that has started.
        """
        now = datetime.now(UTC)
        for seen in await look_at_links(templates, max(now, campaign.start_at or now)):
            if seen.is_problem and campaign.started_at is None:
                raise ConfigurationError(
                    f'the campaign "{campaign.name}" is not started: {seen.words}',
                    where=seen.link,
                    remedy="mend the link, and plan the campaign again with it",
                )
            self.notes.append(seen.words)

    async def _definitions(self, frozen: Sequence[CampaignTemplate]) -> Definitions:
        """Return these templates as the service has them now, or as stored if it cannot be asked."""
        unknown = {template.name for template in frozen} - self._known.keys()
        if unknown:
            try:
                async with asyncio.timeout(ASK_S_MAX):
                    found = await self._ask(unknown)
                self._statuses |= await stored_statuses(self._pool, unknown)
            except (DrumbeatError, TimeoutError) as problem:
                self._note_unasked(problem)
                self._unasked |= unknown
                found = await stored_templates(self._pool, unknown)
            self._known |= dict.fromkeys(unknown, found)
        known = {key: found for known in self._known.values() for key, found in known.items()}
        return {**_as_definitions(each for each in frozen if each.name in self._unasked), **known}

    async def _ask(self, names: Collection[str]) -> Definitions:
        from drumbeat.engine.api.call_budget import (  # imports aiohttp, a third of a command's start
            BURST,
            CALL_EVERY_S,
        )
        from drumbeat.engine.api.service import service_of

        if self._service is None or self._service.waba_id is None:
            raise ConfigurationError("the settings do not name the service and the account")
        account = self._service.waba_id
        budget = SharedCallBudget(self._pool, account, burst=BURST, call_every_s=CALL_EVERY_S)
        async with service_of(self._service, budget) as client:
            return await read_templates(self._pool, client.templates, account, names)

    def _note_unasked(self, problem: Exception) -> None:
        why = str(problem) or f"no answer within {ASK_S_MAX:g} s"
        self.notes.append(f"the stored templates were checked, not those of the service: {why}")


def _as_definitions(frozen: Iterable[CampaignTemplate]) -> Definitions:
    """Return the frozen definitions, with which a template that is not stored counts as unchanged."""
    return {(template.name, template.language): template.definition for template in frozen}


def checking(pool: Pool, settings: Settings) -> TemplateCheck:
    """Return the check that asks the service of the settings."""
    try:
        return TemplateCheck(pool, settings.service())
    except ConfigurationError:
        return TemplateCheck(pool, None)
