"""The message templates of the account, stored as the service lists them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from campaigns.describe_database import describe_database
from campaigns.results.audit_pages import note_audit
from engine.errors import ConfigurationError, NotFound
from engine.store.database import Connection, Pool
from engine.store.queries import queries

if TYPE_CHECKING:  # most commands need no client of the service
    from engine.api.endpoints.templates import CreatedTemplate, NewTemplate, TemplateRecord
    from engine.api.service import Service


class TemplatesSource(Protocol):
    """Lists the templates of an account, as `engine.api.Service.templates` does."""

    def list(self, waba_id: str) -> AsyncIterator[TemplateRecord]: ...


@dataclass(frozen=True, slots=True)
class StoredTemplate:
    """A stored template; `definition` holds name, language, components and parameter_format.
    `status_reason`: why the service rejected or stopped it, if an event said so.
    """

    name: str
    language: str
    status: str
    status_reason: str | None
    category: str | None
    synced_at: datetime
    definition: dict[str, Any]


async def sync_templates(
    pool: Pool, source: TemplatesSource, waba_id: str, *, actor: str = ""
) -> list[StoredTemplate]:
    """Read the account's templates from the service and store them; delete those it no longer lists."""
    listed = [record async for record in source.list(waba_id)]
    async with pool.acquire() as connection, connection.transaction():
        await _store(connection, listed)
        keys = [record.name for record in listed], [record.language for record in listed]
        await connection.execute(queries("templates")["delete_unlisted"], *keys)
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
    """Submit a template for review, and store what the service lists then. `actor`: for the audit."""
    created = await service.templates.create(waba_id, new)
    await note_audit(pool, actor, "template-create", template=new.name, language=new.language)
    await sync_templates(pool, service.templates, waba_id)
    return created


async def delete_template(
    pool: Pool, service: Service, waba_id: str, name: str, language: str | None
) -> list[TemplateRecord]:
    """Delete a template at the service, in all its languages or in one. Then store what the service lists.

    Returns what was deleted; ConfigurationError if the service has no such template.
    """
    found = [each async for each in service.templates.list(waba_id, name=name, language=language)]
    if not found:
        in_language = "" if language is None else f" in {language}"
        raise ConfigurationError(
            f"the account has no template {name}{in_language}", remedy="see `drumbeat templates sync`"
        )
    await service.templates.delete(waba_id, name, None if language is None else found[0].template_id)
    await sync_templates(pool, service.templates, waba_id)
    return found


async def list_templates(pool: Pool) -> list[StoredTemplate]:
    """All stored templates, ordered by name and language."""
    rows = await pool.fetch(queries("templates")["list"])
    return [StoredTemplate(**dict(row)) for row in rows]


async def templates_named(pool: Pool, name: str) -> list[StoredTemplate]:
    """One template in each of its languages; ConfigurationError if it is not stored."""
    rows = await pool.fetch(queries("templates")["of_name"], name)
    if not rows:
        raise NotFound(
            f"there is no template {name}",
            where=await describe_database(pool),
            remedy="run `drumbeat templates sync`",
        )
    return [StoredTemplate(**dict(row)) for row in rows]
