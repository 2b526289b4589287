"""The reader of the service's templates. It stores them, to compare them with what campaigns froze."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from typing import TYPE_CHECKING, Protocol

from drumbeat.engine.core.template.changes import Definitions
from drumbeat.engine.store.database import Pool
from drumbeat.engine.store.queries import queries

if TYPE_CHECKING:
    from drumbeat.engine.api.endpoints.templates import TemplateRecord


class NamedTemplates(Protocol):
    """A list of templates by name, as `engine.api.Service.templates` gives it."""

    def list(self, waba_id: str, *, name: str) -> AsyncIterator[TemplateRecord]: ...


async def read_templates(
    pool: Pool, source: NamedTemplates, waba_id: str, names: Collection[str]
) -> Definitions:
    """Return what the service has of these names now, with a management call for each. Store it."""
    listed = [
        record
        for name in sorted(names)
        async for record in source.list(waba_id, name=name)
        if record.name == name  # the filter may match a part of a name
    ]
    records = {(record.name, record.language): record for record in listed}
    await pool.execute(
        queries("templates")["store"],
        [record.name for record in records.values()],
        [record.language for record in records.values()],
        [record.template_id for record in records.values()],
        [record.status for record in records.values()],
        [record.category for record in records.values()],
        [record.definition() for record in records.values()],
    )
    return {key: record.definition() for key, record in records.items()}


async def stored_statuses(pool: Pool, names: Collection[str]) -> dict[tuple[str, str], str]:
    """Return the stored statuses of these names, by name and language."""
    rows = await pool.fetch(queries("templates")["statuses_of_names"], list(names))
    return {(row["name"], row["language"]): row["status"] for row in rows}


async def stored_templates(pool: Pool, names: Collection[str]) -> Definitions:
    """Return what was stored of these names when they were last read."""
    rows = await pool.fetch(queries("templates")["of_names"], list(names))
    return {(row["name"], row["language"]): row["definition"] for row in rows}
