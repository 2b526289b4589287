"""The message templates of the account, stored as the service lists them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from drumbeat.campaigns.actor import note_audit
from drumbeat.campaigns.describe_database import describe_database
from drumbeat.campaigns.sql import statements
from drumbeat.engine.core.states import CampaignState
from drumbeat.engine.core.template.campaign_template import stored_parts
from drumbeat.engine.errors import NotFound, UsageError
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.queries import queries

if TYPE_CHECKING:  # most commands need no client of the service
    from drumbeat.engine.api.endpoints.templates import CreatedTemplate, NewTemplate, TemplateRecord
    from drumbeat.engine.api.service import Service


NAMED_MAX = 5  # an error names at most so many campaigns
# The statuses of a template that no message can be sent with until somebody does something about it.
STOPPED = ("REJECTED", "PAUSED", "DISABLED")
_NEEDING = (CampaignState.SCHEDULED, CampaignState.RUNNING, CampaignState.PAUSED)


class TemplatesSource(Protocol):
    """A list of the templates of an account, such as `engine.api.Service.templates`."""

    def list(self, waba_id: str) -> AsyncIterator[TemplateRecord]: ...


@dataclass(frozen=True, slots=True)
class StoredTemplate:
    """A stored template. `definition` holds name, language, components and parameter_format. `status_reason`
    says why the service rejected or stopped it, if an event said so.
    """

    name: str
    language: str
    status: str
    status_reason: str | None
    category: str | None
    synced_at: datetime
    definition: dict[str, Any]


@dataclass(frozen=True, slots=True)
class TemplateUse:
    """A campaign that needs a template in these languages."""

    campaign: str
    languages: frozenset[str]

    def needs(self, language: str | None) -> bool:
        """Return whether the campaign sends the template in this language; None means any language."""
        return language is None or language in self.languages


async def sync_templates(
    pool: Pool, source: TemplatesSource, waba_id: str, *, actor: str = ""
) -> list[StoredTemplate]:
    """Read the account's templates from the service and store them; delete those it no longer lists."""
    listed = [record async for record in source.list(waba_id)]
    async with pool.acquire() as connection, connection.transaction():
        await _store(connection, listed)
        keys = [record.name for record in listed], [record.language for record in listed]
        await connection.execute(statements("templates")["delete_unlisted"], *keys)
        await note_audit(connection, actor, "template-sync")
    return await list_templates(pool)


async def refresh_template(pool: Pool, service: Service, waba_id: str, name: str) -> None:
    """Read one template in all its languages from the service, with one call for most names, and store it."""
    listed = [record async for record in service.templates.list(waba_id, name=name)]
    async with pool.acquire() as connection:
        await _store(connection, listed)


async def _store(connection: Connection, listed: Sequence[TemplateRecord]) -> None:
    # Pages overlap if the list changes while it is read, so a template may come twice.
    records = {(record.name, record.language): record for record in listed}.values()
    await connection.execute(
        queries("templates")["store"],
        [record.name for record in records],
        [record.language for record in records],
        [record.template_id for record in records],
        [record.status for record in records],
        [record.category for record in records],
        [record.definition() for record in records],
    )


async def create_template(
    pool: Pool, service: Service, waba_id: str, new: NewTemplate, *, actor: str
) -> CreatedTemplate:
    """Submit a template for review, and store what the service lists then. `actor` is noted in the audit."""
    created = await service.templates.create(waba_id, new)
    await note_audit(pool, actor, "template-create", template=new.name, language=new.language)
    await sync_templates(pool, service.templates, waba_id)
    return created


async def delete_template(
    pool: Pool, service: Service, waba_id: str, name: str, language: str | None, *, actor: str
) -> list[TemplateRecord]:
    """Delete a template at the service, in all its languages or in one. Then store what the service lists,
    and return what was deleted.

    Raise NotFound if the service has no such template. Raise UsageError, which names the campaigns, if
    campaigns still need it.
    """
    if needing := [use.campaign for use in await template_uses(pool, name) if use.needs(language)]:
        raise UsageError(
            f"the template {name} is still needed by {_named(needing)}",
            remedy="wait until they have ended, or cancel them",
        )
    listed = service.templates.list(waba_id, name=name, language=language)
    # The service's filter may match a part of a name, or know no language.
    found = [each async for each in listed if each.name == name and language in (None, each.language)]
    if not found:
        in_language = "" if language is None else f" in {language}"
        raise NotFound(
            f"the account has no template {name}{in_language}", remedy="see `drumbeat templates sync`"
        )
    await service.templates.delete(waba_id, name, None if language is None else found[0].template_id)
    languages = [each.language for each in found]
    await note_audit(pool, actor, "template-delete", template=name, languages=languages)
    await sync_templates(pool, service.templates, waba_id)
    return found


async def template_uses(pool: Pool, name: str) -> list[TemplateUse]:
    """Return the campaigns that a deletion would make fail: they send the template now, or will when a person
    or a time lets them go on. A draft is not among them: it is compared with the service before it starts.
    """
    rows = await pool.fetch(queries("templates")["campaigns_in"], _NEEDING)
    uses = [TemplateUse(row["name"], languages_of(row["template"], name)) for row in rows]
    return [use for use in uses if use.languages]


def languages_of(stored: Mapping[str, Any], name: str) -> frozenset[str]:
    """Return the languages in which a campaign, as its plan froze it, has the template of a name."""
    parts = [part for part in stored_parts(stored) if part.get("message") is None]  # not free-form
    return frozenset(str(part.get("language")) for part in parts if part.get("name") == name)


def _named(campaigns: Sequence[str]) -> str:
    first, more = campaigns[:NAMED_MAX], len(campaigns) - NAMED_MAX
    word = "the campaign" if len(campaigns) == 1 else "the campaigns"
    return f"{word} {', '.join(first)}" + (f" and {more} more" if more > 0 else "")


async def list_templates(pool: Pool) -> list[StoredTemplate]:
    """Return all stored templates, ordered by name and language."""
    rows = await pool.fetch(statements("templates")["list"])
    return [StoredTemplate(**dict(row)) for row in rows]


async def templates_named(pool: Pool, name: str) -> list[StoredTemplate]:
    """Return one template in each of its languages. Raise ConfigurationError if it is not stored."""
    rows = await pool.fetch(statements("templates")["of_name"], name)
    if not rows:
        raise NotFound(
            f"there is no template {name}",
            where=await describe_database(pool),
            remedy="run `drumbeat templates sync`",
        )
    return [StoredTemplate(**dict(row)) for row in rows]
