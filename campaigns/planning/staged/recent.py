"""The search for earlier campaigns whose recipients are people of a new audience as well."""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from drumbeat.campaigns.options.sources import CampaignResult
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.sql import statements
from drumbeat.engine.store.database import Connection

RECENT_DAYS = 7  # a second message within a week is what recipients notice


@dataclass(frozen=True, slots=True)
class RecentCampaign:
    """An earlier campaign, and how many people of the audience are its recipients too.

    `since` is when it started; if it has not `started`, when it was created.
    """

    name: str
    started: bool
    since: datetime
    recipients: int

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


async def recent_campaigns(connection: Connection, spec: CampaignSpec) -> tuple[RecentCampaign, ...]:
    """Return the campaigns of the last RECENT_DAYS with the most people of the staged audience, ten at most.

    If the audience is the result of a campaign, that campaign is left out: a retry means the same people. A
    campaign whose options name no audience, such as a message to one person, gets none: it must not wait for
    a look at all recipients of a week.
    """
    if spec.read_from is not None:
        return ()
    source = [spec.source.name] if isinstance(spec.source, CampaignResult) else []
    rows = await connection.fetch(statements("plan")["recent_campaigns"], RECENT_DAYS, [spec.name, *source])
    return tuple(RecentCampaign(**dict(row)) for row in rows)
