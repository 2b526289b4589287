"""The methods about the account: its numbers and templates, and the people to whom nothing is sent."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from drumbeat.api.installation import Installation, reported
from drumbeat.campaigns.account import numbers as stored_numbers
from drumbeat.campaigns.account import templates as stored_templates
from drumbeat.campaigns.account.at_service import account_service
from drumbeat.campaigns.account.numbers import BusinessNumber, ResumedNumber
from drumbeat.campaigns.account.templates import StoredTemplate
from drumbeat.campaigns.actor import actor
from drumbeat.campaigns.audience.suppression_list import import_suppressions
from drumbeat.campaigns.database_errors import database_blamed
from drumbeat.campaigns.phones.suppression import (
    ADDED_BY_HAND,
    Suppression,
    SuppressionCounts,
    add_suppressions,
    list_suppressions,
    remove_suppressions,
)

if TYPE_CHECKING:
    from drumbeat.engine.api.service import Service


@dataclass(frozen=True, slots=True)
class Synced:
    """The numbers and templates that are stored after both were read from the service."""

    numbers: tuple[BusinessNumber, ...]
    templates: tuple[StoredTemplate, ...]


class Account(Installation):
    """The methods about the account."""

    __slots__ = ()

    @reported
    async def sync(self) -> Synced:
        """Read numbers and templates from the service and store them: what a fresh home needs."""
        waba_id = self.settings.required("waba_id")
        async with self._service() as service:
            numbers = await stored_numbers.sync_numbers(self.pool, service.numbers, waba_id, actor=actor())
            templates = await stored_templates.sync_templates(
                self.pool, service.templates, waba_id, actor=actor()
            )
        return Synced(tuple(numbers), tuple(templates))

    @reported
    async def sync_numbers(self) -> list[BusinessNumber]:
        """Read the account's numbers, as `numbers sync` does; return all that are stored."""
        waba_id = self.settings.required("waba_id")
        async with self._service() as service:
            return await stored_numbers.sync_numbers(self.pool, service.numbers, waba_id, actor=actor())

    @reported
    async def sync_templates(self) -> list[StoredTemplate]:
        """Read the account's templates, as `templates sync` does; return all that are stored."""
        waba_id = self.settings.required("waba_id")
        async with self._service() as service:
            return await stored_templates.sync_templates(self.pool, service.templates, waba_id, actor=actor())

    @reported
    async def numbers(self) -> list[BusinessNumber]:
        """Return the stored numbers, as `numbers list` does."""
        return await stored_numbers.list_numbers(self.pool)

    @reported
    async def templates(self) -> list[StoredTemplate]:
        """Return the stored templates, as `templates list` does."""
        return await stored_templates.list_templates(self.pool)

    @reported
    async def resume_number(self, phone_number_id: str) -> ResumedNumber:
        """Let a stopped number send again, as `numbers resume` does."""
        return await stored_numbers.resume_number(self.pool, phone_number_id, actor=actor())

    @reported
    async def suppress(
        self, *phones: str, reason: str = ADDED_BY_HAND, region: str | None = None
    ) -> SuppressionCounts:
        """Send nothing to these phones from now on, in running campaigns too, as `suppress add` does."""
        async with self.pool.acquire() as connection:
            return await add_suppressions(connection, phones, reason, region, actor=actor())

    @reported
    async def suppress_file(
        self,
        path: Path | str,
        *,
        reason: str = "imported",
        phone_column: str = "phone",
        region: str | None = None,
        rejects: Path | str | None = None,
    ) -> SuppressionCounts:
        """Add the phones of a file, as `suppress import` does. `rejected` counts rows that cannot be read."""
        async with self.pool.acquire() as connection:
            return await import_suppressions(
                connection,
                Path(path),
                reason=reason,
                phone_column=phone_column,
                region=region,
                rejects_path=None if rejects is None else Path(rejects),
                actor=actor(),
            )

    @reported
    async def unsuppress(self, *phones: str, region: str | None = None) -> SuppressionCounts:
        """Take phones off the list, as `suppress remove` does."""
        async with self.pool.acquire() as connection:
            return await remove_suppressions(connection, phones, region, actor=actor())

    async def suppressions(self) -> AsyncIterator[Suppression]:
        """Give the whole suppression list, ordered by phone."""
        entries = list_suppressions(self.pool)
        while True:
            with database_blamed(self.url):
                entry = await anext(entries, None)
            if entry is None:
                return
            yield entry

    @asynccontextmanager
    async def _service(self) -> AsyncIterator["Service"]:
        waba_id = self.settings.required("waba_id")
        async with account_service(self.pool, self.settings.service(), waba_id) as service:
            yield service
