"""The options of a planned campaign as they were given, from which clones and edits start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from drumbeat.campaigns.campaign import find_campaign, require_planned
from drumbeat.campaigns.describe_database import describe_database
from drumbeat.campaigns.options.table import OPTIONS
from drumbeat.campaigns.options.values import AUDIENCE_SOURCES
from drumbeat.campaigns.sql import statements
from drumbeat.engine.errors import ConfigurationError
from drumbeat.engine.store.database import Connection, Pool


@dataclass(frozen=True, slots=True)
class StoredOptions:
    """A campaign's own name, and its options by the keys of a manifest."""

    name: str
    values: dict[str, Any]


async def stored_options(connection: Pool | Connection, name: str) -> StoredOptions:
    """Return the options of a campaign by name. Raise ConfigurationError if none are stored as given."""
    campaign = await find_campaign(connection, name)
    require_planned(campaign)
    values = await stored_values(connection, campaign.campaign_id)
    if not values:
        raise ConfigurationError(
            f'the options of the campaign "{campaign.name}" do not say where its people came from',
            where=await describe_database(connection),
            remedy="`message send` or `campaign retry` made it; use `campaign create` or `campaign apply`",
        )
    return StoredOptions(campaign.name, values)


async def stored_values(connection: Pool | Connection, campaign_id: int) -> dict[str, Any]:
    """Return the options as they were given; empty if they do not name the audience."""
    frozen = await connection.fetchrow(statements("plan")["frozen_campaign"], campaign_id)
    assert frozen is not None, "a campaign's row is never deleted once it is planned"
    values = {key: value for key, value in frozen["options"].items() if key in OPTIONS}
    return {} if AUDIENCE_SOURCES.isdisjoint(values) else values
