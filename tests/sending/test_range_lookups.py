"""When one number finds no free range of a campaign, the other numbers of the process do not ask."""

from collections import Counter
from typing import Any

import pytest

from drumbeat.engine.sending import campaign_cache as module
from drumbeat.engine.sending import feeder
from drumbeat.engine.sending.campaign_cache import NONE_FREE_NS, CampaignCache
from drumbeat.engine.sending.campaign_reader import CampaignReader
from drumbeat.engine.sending.feeder import Feeder
from drumbeat.engine.sending.feeds_in_hand import Feed
from drumbeat.engine.store.database import Pool
from drumbeat.engine.store.leases import take_lease
from drumbeat.engine.store.ranges import HeldRange, take_range
from tests.sending.clock import Clock
from tests.sending.planted import FAST, SLOW, Planted, another_process, plant_campaign, plant_numbers
from tests.sending.running import PATIENCE_S

BOTH = (SLOW, FAST)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "monotonic_ns", clock)
    return clock


@pytest.fixture
def lookups(monkeypatch: pytest.MonkeyPatch) -> Counter[int]:
    """How often the database was asked for a free range, by campaign."""
    counted: Counter[int] = Counter()

    async def counted_take_range(connection: Any, lease: Any, campaign_id: int) -> HeldRange | None:
        counted[campaign_id] += 1
        return await take_range(connection, lease, campaign_id)

    monkeypatch.setattr(feeder, "take_range", counted_take_range)
    return counted


@pytest.fixture
async def campaign_cache() -> CampaignCache:
    return CampaignCache()


@pytest.fixture
async def feeders(pool: Pool, campaign_cache: CampaignCache) -> tuple[Feeder, Feeder]:
    """The feeders of two numbers of one process."""
    async with pool.acquire() as connection:
        await plant_numbers(connection, **{SLOW: 80, FAST: 1_000})
        leases = [await take_lease(connection, number, another_process()) for number in BOTH]
    slow, fast = (Feeder(pool, lease, campaign_cache) for lease in leases)
    return slow, fast


async def planted(pool: Pool, campaign_cache: CampaignCache, **campaign: Any) -> Planted:
    async with pool.acquire() as connection:
        campaign_planted = await plant_campaign(connection, numbers=BOTH, **campaign)
        await CampaignReader(campaign_cache, "none", None).refresh(connection)
    return campaign_planted


@pytest.fixture
async def taken(
    pool: Pool,
    campaign_cache: CampaignCache,
    feeders: tuple[Feeder, Feeder],
    clock: Clock,
    lookups: Counter[int],
) -> Feed:
    """The slow number holds the only range of a campaign; the fast one asked for another and got none."""
    slow, fast = feeders
    await planted(pool, campaign_cache, recipients=10)
    feed = await slow.feed()
    assert feed is not None
    assert await fast.feed() is None
    assert lookups == {feed.held.campaign_id: 2}
    return feed


async def test_a_number_that_finds_no_range_saves_the_others_the_lookup(
    feeders: tuple[Feeder, Feeder], clock: Clock, lookups: Counter[int], taken: Feed
) -> None:
    slow, fast = feeders
    clock.now_ns += NONE_FREE_NS - 1
    assert await fast.feed() is None
    slow.look_ahead(1_000)
    await slow.close(PATIENCE_S)
    assert lookups == {taken.held.campaign_id: 2}, "nobody asks again so soon"


async def test_a_released_range_is_found_at_once(feeders: tuple[Feeder, Feeder], taken: Feed) -> None:
    slow, fast = feeders
    await slow.release_ranges([taken.held])

    found = await fast.feed()
    assert found is not None
    assert found.held.range_id == taken.held.range_id


async def test_a_range_that_another_process_releases_is_found_when_the_lookup_has_expired(
    pool: Pool, feeders: tuple[Feeder, Feeder], clock: Clock, taken: Feed
) -> None:
    _, fast = feeders
    async with pool.acquire() as connection:
        await connection.execute("UPDATE ranges SET phone_number_id = NULL")
    assert await fast.feed() is None

    clock.now_ns += NONE_FREE_NS
    found = await fast.feed()
    assert found is not None
    assert found.held.range_id == taken.held.range_id


async def test_ranges_of_another_campaign_are_still_looked_up(
    pool: Pool,
    campaign_cache: CampaignCache,
    feeders: tuple[Feeder, Feeder],
    lookups: Counter[int],
    taken: Feed,
) -> None:
    _, fast = feeders
    begun = (await planted(pool, campaign_cache, recipients=10)).campaign_id

    feed = await fast.feed()

    assert feed is not None
    assert feed.held.campaign_id == begun
    assert lookups == {taken.held.campaign_id: 2, begun: 1}
