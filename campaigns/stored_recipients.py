"""The recipients of a planned campaign, as they are stored."""

from __future__ import annotations

from collections.abc import AsyncIterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import asyncpg

from drumbeat.campaigns.command_text import command_text
from drumbeat.campaigns.describe_database import describe_database
from drumbeat.campaigns.phones.countries import country_of
from drumbeat.campaigns.sql import statements
from drumbeat.campaigns.template_shares import TemplateShare
from drumbeat.engine.core.states import RecipientState
from drumbeat.engine.errors import ConfigurationError
from drumbeat.engine.store.database import Connection, Pool


@dataclass(frozen=True, slots=True)
class ExportFilter:
    """The recipients whom an export holds. An empty set admits all. `countries` are ISO codes."""

    states: AbstractSet[RecipientState] = frozenset()
    codes: AbstractSet[int] = frozenset()
    numbers: AbstractSet[str] = frozenset()
    countries: AbstractSet[str] = frozenset()
    languages: AbstractSet[str] = frozenset()
    variants: AbstractSet[str] = frozenset()

    def admits(self, record: asyncpg.Record) -> bool:
        """Return whether a stored recipient passes. The query has compared its state already."""
        return (
            (not self.codes or record["code"] in self.codes)
            and (not self.numbers or record["phone_number_id"] in self.numbers)
            and (not self.countries or country_of(record["phone"]) in self.countries)
        )

    def admits_template(self, template: TemplateShare) -> bool:
        """Return whether recipients of the template pass."""
        return (not self.languages or template.language in self.languages) and (
            not self.variants or template.variant in self.variants
        )


EVERYBODY = ExportFilter()


async def export_records(
    pool: Pool | Connection, campaign_id: int, wanted: ExportFilter
) -> AsyncIterator[list[asyncpg.Record]]:
    """Give pages of recipients as they are stored. The filter's languages and variants are not applied."""
    states = sorted(wanted.states) or None
    ordinal = -1
    while ranges := await pool.fetch(
        statements("report")["export_ranges_in_states"], campaign_id, ordinal, states
    ):
        for row in ranges:
            page = await pool.fetch(statements("report")["export_page"], row["range_id"], states)
            yield page if wanted is EVERYBODY else [record for record in page if wanted.admits(record)]
        ordinal = ranges[-1]["ordinal"]


async def require_kept(pool: Pool | Connection, campaign_id: int, name: str) -> None:
    """Raise ConfigurationError if the recipients of a planned campaign were pruned."""
    if not await pool.fetchval(statements("report")["is_kept"], campaign_id):
        raise ConfigurationError(
            f'the recipients of "{name}" were dropped by `db prune`',
            where=await describe_database(pool),
            remedy=f"its counts are kept: `{command_text('campaign', 'report', name)}`",
        )
