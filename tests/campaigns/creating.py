"""Kills a create, and reads what it has stored."""

import asyncpg
import pytest

from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.campaigns.progress import PlanProgress
from drumbeat.engine.store.database import Pool


class Killed(BaseException):
    """Stands for the end of the process: no handler of ours runs on it."""


async def create_and_be_killed(url: str, spec: CampaignSpec, *, written: int = 0) -> None:
    """Create a campaign in a process that ends while it freezes, once so many recipients are written."""

    def kill(progress: PlanProgress) -> None:
        if progress.stage == "freezing" and progress.done >= written:
            raise Killed

    with pytest.raises(Killed):
        await create_campaign(url, spec, kill)


async def everything(pool: Pool) -> dict[str, int]:
    tables = ("campaigns", "ranges", "recipients", "range_counters")
    return {table: await pool.fetchval(f"SELECT count(*) FROM {table}") for table in tables}


async def recipients(pool: Pool) -> list[asyncpg.Record]:
    return await pool.fetch(
        "SELECT phone, variables, line, skip_reason, seq FROM recipients JOIN ranges USING (range_id)"
        " ORDER BY ordinal, seq"
    )


async def assert_range_counters_equal_a_recount(pool: Pool) -> None:
    wrong = await pool.fetch(
        "SELECT range_id, range_counters.recipients, range_counters.skipped, counted.* FROM range_counters JOIN ("
        "  SELECT range_id, count(*) AS all, count(*) FILTER (WHERE state = 'skipped') AS skip"
        "  FROM recipient_states GROUP BY range_id) AS counted USING (range_id)"
        " WHERE range_counters.recipients <> counted.all OR range_counters.skipped <> counted.skip"
    )
    assert wrong == []


async def recount(pool: Pool) -> None:
    """Let the counters of ranges say what outcomes and attempts that a test planted mean."""
    states = ("failed", "accepted", "sent", "delivered", "read", "unknown", "skipped", "deferred")
    counts = ", ".join(f"count(*) FILTER (WHERE state = '{state}')" for state in states)
    await pool.execute(
        f"UPDATE range_counters SET ({', '.join(states)}) = (SELECT {counts}"
        " FROM recipient_states WHERE recipient_states.range_id = range_counters.range_id)"
    )
