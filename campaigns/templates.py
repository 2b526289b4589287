"""The message templates of the account, kept as the service lists them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from campaigns.describe_database import place
from engine.errors import ConfigurationError
from engine.store.database import Pool
from engine.store.queries import queries

if TYPE_CHECKING:  # what is stored is read without a client of the service
    from engine.api.resources import TemplateRecord


class TemplatesSource(Protocol):
    """What lists the templates of an account: `engine.api.resources.ManagementClient`."""

    async def templates(self, waba_id: str) -> list[TemplateRecord]: ...


@dataclass(frozen=True, slots=True)
class StoredTemplate:
    """A template; `definition` holds name, language, components and parameter_format."""

    name: str
    language: str
    status: str
    category: str | None
    synced_at: datetime
    definition: dict[str, Any]


async def sync_templates(pool: Pool, source: TemplatesSource, waba_id: str) -> list[StoredTemplate]:
    """Read the account's templates from the service and store them; those it lists no more are forgotten."""
    # One each: pages of a list that changes meanwhile overlap.
    records = {(record.name, record.language): record for record in await source.templates(waba_id)}.values()
    keys = [record.name for record in records], [record.language for record in records]
    rest = (
        [record.template_id for record in records],
        [record.status for record in records],
        [record.category for record in records],
        [record.definition() for record in records],
    )
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute(queries("templates")["store"], *keys, *rest)
        await connection.execute(queries("templates")["delete_unlisted"], *keys)
    return await list_templates(pool)


async def list_templates(pool: Pool) -> list[StoredTemplate]:
    """All templates, by name and language."""
    rows = await pool.fetch(queries("templates")["list"])
    return [StoredTemplate(**dict(row)) for row in rows]


async def templates_named(pool: Pool, name: str) -> list[StoredTemplate]:
    """The languages of one template; ConfigurationError where there is none."""
    rows = await pool.fetch(queries("templates")["of_name"], name)
    if not rows:
        raise ConfigurationError(
            f"there is no template {name}", where=await place(pool), remedy="run `drumbeat templates sync`"
        )
    return [StoredTemplate(**dict(row)) for row in rows]
