"""A start at once is asked for: no saved option and no lifted pause starts a campaign that waits for its time."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from drumbeat.campaigns.changing.derived import cloned, edit_campaign
from drumbeat.campaigns.life.control import pause, resume, start
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.options.stored import stored_options
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.campaigns.planning.start_time import StartsAtOnce
from drumbeat.engine.core.states import CampaignState
from drumbeat.engine.sending.campaign_housekeeping import CampaignHousekeeping
from drumbeat.engine.store.database import Pool
from tests.campaigns.conftest import PHONE, WriteAudience
from tests.sending.planted import context_of

NOW = datetime.now(UTC)
PAST, LATER = (NOW - timedelta(hours=1)).isoformat(), (NOW + timedelta(days=1)).isoformat()


@pytest.fixture
def asked(write_audience: WriteAudience) -> CampaignSpec:
    audience = write_audience(f"phone,name,order\n{PHONE},Ana,A1\n")
    return CampaignSpec(
        name="spring", template="order", language="en", number=["1001"], audience=audience,
        param=["name", "order"], start_at=LATER,
    )  # fmt: skip


@pytest.fixture
async def scheduled(ready: str, pool: Pool, asked: CampaignSpec) -> str:
    await create_campaign(ready, asked)
    async with pool.acquire() as connection:
        assert (await start(connection, "spring")).state is CampaignState.SCHEDULED
    return ready


async def state_after_a_look(pool: Pool) -> str:
    """The state once a worker has looked for campaigns to start."""
    async with pool.acquire() as connection:
        await CampaignHousekeeping(context_of(pool), None).move_due(connection)
    return str(await pool.fetchval("SELECT state FROM campaigns WHERE name = 'spring'"))


async def edit(url: str, pool: Pool, *unset: str, now: bool = False, **changes: Any) -> None:
    stored = await stored_options(pool, "spring")
    await edit_campaign(url, stored, changes, unset, change_by="ana@ops", now=now)


@pytest.mark.parametrize(
    "changes", [{"start_at": PAST}, {"start_at": NOW.isoformat()}, {"unset": "start_at"}]
)
async def test_an_edit_that_starts_it_is_refused_unless_it_says_so(
    scheduled: str, pool: Pool, changes: dict[str, str]
) -> None:
    unset = [text for key, text in changes.items() if key == "unset"]
    given = {key: text for key, text in changes.items() if key != "unset"}
    with pytest.raises(StartsAtOnce, match=r"at once.*--now"):
        await edit(scheduled, pool, *unset, window="09:00-20:00", **given)
    assert await state_after_a_look(pool) == "scheduled"
    assert await pool.fetchval("SELECT window_opens FROM campaigns") is None, "nothing is saved"
    await edit(scheduled, pool, *unset, now=True, **given)
    assert await state_after_a_look(pool) == "running"


async def test_an_apply_that_starts_it_is_refused_unless_it_says_so(
    scheduled: str, pool: Pool, asked: CampaignSpec
) -> None:
    due = replace(asked, start_at=PAST)
    for dry_run in (True, False):
        with pytest.raises(StartsAtOnce):
            await create_campaign(scheduled, due, change_by="ana@ops", dry_run=dry_run)
    assert await state_after_a_look(pool) == "scheduled"
    await create_campaign(scheduled, due, change_by="ana@ops", now=True)
    assert await state_after_a_look(pool) == "running"


async def test_a_later_start_and_other_options_are_saved_as_before(scheduled: str, pool: Pool) -> None:
    await edit(scheduled, pool, start_at=(NOW + timedelta(days=2)).isoformat())
    assert await state_after_a_look(pool) == "scheduled"
    await edit(scheduled, pool, start_at=PAST, now=True)
    await edit(scheduled, pool, max_failed="5%")  # it is due already, and this does not start it
    assert await state_after_a_look(pool) == "running"


@pytest.mark.parametrize("start_at", [PAST, LATER], ids=["past", "later"])
async def test_a_draft_never_starts_by_its_time(
    ready: str, pool: Pool, asked: CampaignSpec, start_at: str
) -> None:
    await create_campaign(ready, replace(asked, start_at=start_at))
    await edit(ready, pool, start_at=PAST)
    await create_campaign(ready, await cloned(pool, "spring", "copy", {}))
    assert await state_after_a_look(pool) == "draft"
    assert await pool.fetchval("SELECT state FROM campaigns WHERE name = 'copy'") == "draft"
    async with pool.acquire() as connection:
        assert (await start(connection, "spring")).state is CampaignState.RUNNING, "a start says so by itself"


async def test_a_pause_that_outlasts_the_start_is_lifted_only_if_it_may_start(
    scheduled: str, pool: Pool
) -> None:
    async with pool.acquire() as connection:
        await pause(connection, "spring")
        assert (await resume(connection, "spring")).state is CampaignState.SCHEDULED
        await pause(connection, "spring")
        await connection.execute("UPDATE campaigns SET start_at = now() - interval '1 second'")
        with pytest.raises(StartsAtOnce, match=r"at once.*--now"):
            await resume(connection, "spring")
        assert await state_after_a_look(pool) == "paused"
        assert (await resume(connection, "spring", now=True)).state is CampaignState.RUNNING
        await pause(connection, "spring")
        assert (await resume(connection, "spring")).state is CampaignState.RUNNING, "it has started already"
