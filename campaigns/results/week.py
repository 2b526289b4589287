"""The last seven days in figures, and what a new installation has so far."""

from collections.abc import Mapping
from dataclasses import dataclass

from drumbeat.campaigns.results.campaign_pages import read_counts
from drumbeat.campaigns.results.funnel import funnel
from drumbeat.campaigns.sql import statements
from drumbeat.engine.core.states import RecipientState
from drumbeat.engine.store.database import Connection, Pool

WEEK_CAMPAIGNS_MAX = 1_000  # the newest are counted; 1 µs for each of their ranges


@dataclass(frozen=True, slots=True)
class Week:
    """The campaigns that started in the last seven days: how many, their people, how far the messages came,
    and how many people were not reached.
    """

    campaigns: int
    recipients: int
    steps: Mapping[RecipientState, int]
    failed: int


@dataclass(frozen=True, slots=True)
class FirstSteps:
    """The first steps that are done."""

    numbers: bool
    templates: bool
    campaigns: bool


async def read_week(pool: Pool) -> Week:
    """Return the figures of the last seven days."""
    rows = await pool.fetch(statements("results_pages")["week"], WEEK_CAMPAIGNS_MAX)
    counts = await read_counts(pool, [row["campaign_id"] for row in rows])
    total = {state: sum(each[state] for each in counts.values()) for state in RecipientState}
    return Week(
        len(rows),
        sum(row["recipients"] or 0 for row in rows),
        funnel(total, sum(row["accepted"] for row in rows)),
        total[RecipientState.FAILED],
    )


async def read_first_steps(connection: Connection) -> FirstSteps:
    """Return which of the first steps are done."""
    row = await connection.fetchrow(statements("results_pages")["first_steps"])
    assert row is not None
    return FirstSteps(**dict(row))
