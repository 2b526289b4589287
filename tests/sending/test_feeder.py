"""Feeding a number: range after range, campaigns in turn. A range that was taken is always fed."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from drumbeat.engine.core.order import Priority
from drumbeat.engine.sending import feeder as module
from drumbeat.engine.sending.feeder import Feeder
from drumbeat.engine.store.claims import ClaimRefused, advance_watermark
from drumbeat.engine.store.database import Pool
from drumbeat.engine.store.leases import Lease, take_lease
from drumbeat.engine.store.ranges import HeldRange, take_range
from tests.sending.planted import SLOW, Planted, another_process, plant_campaign, plant_numbers
from tests.sending.running import PATIENCE_S


class FakeCampaignCache:
    """A campaign cache in which the test decides which campaigns may send."""

    def __init__(self) -> None:
        self.sending: list[int] = []
        self.orders: dict[int, tuple[Priority, int | None]] = {}  # of campaigns that have options
        self.starts = 0
        self.answers: list[tuple[str, int]] = []

    def __getitem__(self, campaign_id: int) -> SimpleNamespace:
        priority, share = self.orders.get(campaign_id, (Priority.NORMAL, None))
        return SimpleNamespace(campaign_id=campaign_id, priority=priority, share_percent=share)

    @property
    def has_priorities(self) -> bool:
        return len({self[campaign_id].priority for campaign_id in self.sending}) > 1

    def sends(self, campaign_id: int) -> bool:
        return campaign_id in self.sending

    def closed(self, held: HeldRange) -> None:
        """No range waits for the hours of its recipients."""

    def with_free_ranges(self, phone_number_id: str) -> list[int]:
        return list(self.sending)

    def note_free(self, campaign_id: int, *, is_free: bool) -> None:
        """Unlike the real one, it lets the feeder ask again at once."""
        self.answers.append(("some free" if is_free else "none free", campaign_id))


@pytest.fixture
def campaign_cache() -> FakeCampaignCache:
    return FakeCampaignCache()


@pytest.fixture
async def lease(pool: Pool) -> Lease:
    async with pool.acquire() as connection:
        await plant_numbers(connection, **{SLOW: 80})
        return await take_lease(connection, SLOW, another_process())


@pytest.fixture
async def feeder(pool: Pool, lease: Lease, campaign_cache: FakeCampaignCache) -> AsyncIterator[Feeder]:
    feeder = Feeder(pool, lease, campaign_cache)  # type: ignore[arg-type]
    yield feeder
    await feeder.close(PATIENCE_S)


async def planted(pool: Pool, campaign_cache: FakeCampaignCache, **campaign: Any) -> Planted:
    async with pool.acquire() as connection:
        campaign_planted = await plant_campaign(connection, **campaign)
    campaign_cache.sending.append(campaign_planted.campaign_id)
    return campaign_planted


async def claim_all(pool: Pool, lease: Lease, feeder: Feeder, turns: int) -> list[int]:
    """Claim feed after feed; returns the range of each turn."""
    ranges = []
    for _ in range(turns):
        feed = await feeder.feed()
        if feed is None:
            break
        async with pool.acquire() as connection:
            await advance_watermark(connection, lease, feed.held, feed.held.last_seq, [])
        feed.page.clear()
        ranges.append(feed.held.range_id)
    return ranges


async def test_every_range_is_fed_once_and_then_nothing(
    pool: Pool, lease: Lease, feeder: Feeder, campaign_cache: FakeCampaignCache
) -> None:
    campaign = await planted(pool, campaign_cache, recipients=23, range_size=5)
    assert await claim_all(pool, lease, feeder, 99) == campaign.range_ids
    assert campaign_cache.answers == [("none free", campaign.campaign_id)], "nobody asks for more at once"
    assert await feeder.feed() is None
    assert feeder.in_hand.unclaimed == 0


async def test_campaigns_take_turns(
    pool: Pool, lease: Lease, feeder: Feeder, campaign_cache: FakeCampaignCache
) -> None:
    campaigns = [await planted(pool, campaign_cache, recipients=4, range_size=2) for _ in range(3)]
    fed = await claim_all(pool, lease, feeder, 99)
    assert fed == [campaign.range_ids[turn] for turn in (0, 1) for campaign in campaigns]


async def test_a_share_decides_how_often_a_campaign_has_its_turn(
    pool: Pool, lease: Lease, feeder: Feeder, campaign_cache: FakeCampaignCache
) -> None:
    small, large = [await planted(pool, campaign_cache, recipients=80, range_size=10) for _ in range(2)]
    campaign_cache.orders[small.campaign_id] = (Priority.NORMAL, 25)
    fed = await claim_all(pool, lease, feeder, 8)
    assert len(set(fed) & set(small.range_ids)) == 2
    assert len(set(fed) & set(large.range_ids)) == 6


async def test_a_higher_priority_is_fed_first_while_the_held_range_waits(
    pool: Pool, lease: Lease, feeder: Feeder, campaign_cache: FakeCampaignCache
) -> None:
    sale = await planted(pool, campaign_cache, recipients=30, range_size=10)
    assert (waiting := await feeder.feed()) is not None
    reset = await planted(pool, campaign_cache, recipients=2, range_size=1)
    campaign_cache.orders[reset.campaign_id] = (Priority.URGENT, None)
    feeder.look_ahead(1)
    await feeder.close(PATIENCE_S)
    assert feeder.in_hand.priority is Priority.URGENT
    assert [held.range_id for held in feeder.in_hand.outranked()] == [waiting.held.range_id]
    assert await claim_all(pool, lease, feeder, 1) == reset.range_ids[:1]
    feeder.look_ahead(1)
    await feeder.close(PATIENCE_S)
    assert await claim_all(pool, lease, feeder, 9) == [reset.range_ids[1], *sale.range_ids]
    assert feeder.in_hand.outranked() == []


async def test_no_range_of_a_lower_priority_is_taken_ahead_while_there_are_higher_ones(
    pool: Pool, lease: Lease, feeder: Feeder, campaign_cache: FakeCampaignCache
) -> None:
    sale = await planted(pool, campaign_cache, recipients=20, range_size=10)
    news = await planted(pool, campaign_cache, recipients=20, range_size=10)
    campaign_cache.orders[news.campaign_id] = (Priority.HIGH, None)
    for _ in range(3):
        feeder.look_ahead(15)
        await feeder.close(PATIENCE_S)
    assert list(feeder.held) == news.range_ids, "enough of the higher priority is in hand"
    campaign_cache.sending.remove(news.campaign_id)
    assert (feed := await feeder.feed()) is not None, "a campaign that may not send does not hold up others"
    assert feed.held.range_id == sale.range_ids[0]


async def test_a_campaign_that_may_not_send_now_keeps_its_range(
    pool: Pool, lease: Lease, feeder: Feeder, campaign_cache: FakeCampaignCache
) -> None:
    first = await planted(pool, campaign_cache)
    assert (feed := await feeder.feed()) is not None
    campaign_cache.sending.clear()
    assert await feeder.feed() is None
    second = await planted(pool, campaign_cache)
    assert (other := await feeder.feed()) is not None
    assert other.held.campaign_id == second.campaign_id
    campaign_cache.sending = [first.campaign_id]
    assert await feeder.feed() is feed


async def test_the_next_range_is_fetched_ahead_of_need(
    pool: Pool, lease: Lease, feeder: Feeder, campaign_cache: FakeCampaignCache
) -> None:
    campaign = await planted(pool, campaign_cache, recipients=30, range_size=10)
    await feeder.feed()
    feeder.look_ahead(5)
    await feeder.close(PATIENCE_S)
    assert len(feeder.held) == 1, "there is enough in hand"
    feeder.look_ahead(15)
    feeder.look_ahead(15)
    await feeder.close(PATIENCE_S)
    assert (len(feeder.held), feeder.in_hand.unclaimed) == (2, 20), "one at a time"
    assert await claim_all(pool, lease, feeder, 9) == campaign.range_ids


async def test_who_needs_a_range_waits_for_the_one_that_is_being_fetched(
    pool: Pool, lease: Lease, feeder: Feeder, campaign_cache: FakeCampaignCache
) -> None:
    campaign = await planted(pool, campaign_cache, recipients=20, range_size=10)
    feeder.look_ahead(5)
    assert await feeder.feed() is not None
    await feeder.close(PATIENCE_S)
    assert list(feeder.held) == campaign.range_ids[:1]


async def test_recipients_of_a_campaign_that_may_not_send_now_are_no_supply(
    pool: Pool, lease: Lease, feeder: Feeder, campaign_cache: FakeCampaignCache
) -> None:
    await planted(pool, campaign_cache, recipients=10)
    await feeder.feed()
    campaign_cache.sending.clear()
    other = await planted(pool, campaign_cache, recipients=10)
    feeder.look_ahead(5)
    await feeder.close(PATIENCE_S)
    assert [held.campaign_id for held in feeder.held.values()][1:] == [other.campaign_id]


async def test_a_fetch_that_hangs_ends_with_the_number(
    pool: Pool,
    lease: Lease,
    feeder: Feeder,
    campaign_cache: FakeCampaignCache,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await planted(pool, campaign_cache)
    ended = asyncio.Event()

    async def hang(*_: Any) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    monkeypatch.setattr(module, "take_range", hang)
    feeder.look_ahead(5)
    await asyncio.sleep(0)
    await feeder.close(0.0)
    await asyncio.wait_for(ended.wait(), 10)


async def test_a_range_that_was_closed_while_it_was_ours_is_held_and_not_fed(
    pool: Pool, lease: Lease, feeder: Feeder, campaign_cache: FakeCampaignCache
) -> None:
    """If it were not held, nobody would release it."""
    campaign = await planted(pool, campaign_cache)
    async with pool.acquire() as connection:
        await take_range(connection, lease, campaign.campaign_id)
        await connection.execute("UPDATE ranges SET state = 'closed'")
    await feeder.recover()
    assert list(feeder.held) == campaign.range_ids
    assert await feeder.feed() is None


async def test_a_range_that_comes_while_another_goes_is_fed(
    pool: Pool,
    lease: Lease,
    feeder: Feeder,
    campaign_cache: FakeCampaignCache,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    campaign = await planted(pool, campaign_cache, recipients=20, range_size=10)
    [gone] = await claim_all(pool, lease, feeder, 1)
    real, paging, go_on = module.page, asyncio.Event(), asyncio.Event()

    async def page(*arguments: Any) -> Sequence[Any]:
        paging.set()
        await go_on.wait()
        return await real(*arguments)

    monkeypatch.setattr(module, "page", page)
    feeder.look_ahead(15)
    await asyncio.wait_for(paging.wait(), 10)
    feeder.remove({gone})
    go_on.set()
    assert await claim_all(pool, lease, feeder, 9) == campaign.range_ids[1:]


@pytest.mark.parametrize("after", [False, True], ids=["before", "committed"])
@pytest.mark.parametrize("name", ["take_range", "page", "own_ranges"])
async def test_a_range_whose_answer_is_lost_is_fed_all_the_same(
    pool: Pool,
    lease: Lease,
    feeder: Feeder,
    campaign_cache: FakeCampaignCache,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    after: bool,
) -> None:
    campaign = await planted(pool, campaign_cache, recipients=20, range_size=10)
    real, failures = getattr(module, name), 2

    async def cut(*arguments: Any) -> Any:
        nonlocal failures
        failures -= 1
        if failures < 0:
            return await real(*arguments)
        if after:
            await real(*arguments)
        raise ConnectionResetError("cut by the test")

    monkeypatch.setattr(module, name, cut)
    fed: list[int] = []
    if name == "own_ranges":
        with pytest.raises(ConnectionResetError):
            await feeder.recover()
    for _ in range(9):
        try:
            fed += await claim_all(pool, lease, feeder, 1)
        except ConnectionResetError:
            continue
    assert sorted(fed) == campaign.range_ids


async def test_a_range_in_hand_is_not_fed_again_after_a_lost_answer(
    pool: Pool, lease: Lease, feeder: Feeder, campaign_cache: FakeCampaignCache
) -> None:
    campaign = await planted(pool, campaign_cache, recipients=10)
    assert await feeder.feed() is not None
    await feeder.recover()
    assert feeder.in_hand.unclaimed == 10
    assert await claim_all(pool, lease, feeder, 9) == campaign.range_ids


async def test_a_range_with_a_claim_without_an_outcome_is_not_released_and_is_fed_again(
    pool: Pool, lease: Lease, feeder: Feeder, campaign_cache: FakeCampaignCache
) -> None:
    campaign = await planted(pool, campaign_cache, recipients=10)
    feed = await feeder.feed()
    assert feed is not None
    async with pool.acquire() as connection:
        await advance_watermark(connection, lease, feed.held, 4, [])
    await feeder.release_ranges([feed.held])
    again = await feeder.feed()
    assert again is not None
    assert ([again.held.range_id], again.held.claimed_through) == (campaign.range_ids, 4)
    assert [candidate.seq for candidate in again.page] == [5, 6, 7, 8, 9, 10]


async def test_what_is_released_is_free_and_forgotten(
    pool: Pool, lease: Lease, feeder: Feeder, campaign_cache: FakeCampaignCache
) -> None:
    campaign = await planted(pool, campaign_cache, recipients=10)
    feed = await feeder.feed()
    assert feed is not None
    await feeder.release_ranges([feed.held])
    assert feeder.held == {} and feeder.in_hand.unclaimed == 0
    assert campaign_cache.answers == [("some free", campaign.campaign_id)], "others look for it again"
    async with pool.acquire() as connection:
        assert await connection.fetchval("SELECT phone_number_id FROM ranges") is None
        with pytest.raises(ClaimRefused):
            await advance_watermark(connection, lease, feed.held, 5, [])


async def test_a_range_that_a_fail_over_gave_back_is_fed_when_its_campaign_starts_again(
    pool: Pool, lease: Lease, feeder: Feeder, campaign_cache: FakeCampaignCache
) -> None:
    """The number had sent and released it; the standby that took over does not know that."""
    await planted(pool, campaign_cache)
    (released,) = await claim_all(pool, lease, feeder, 1)
    feeder.remove({released})
    await pool.execute("UPDATE ranges SET claimed_through = 0")
    assert await feeder.feed() is None
    campaign_cache.starts += 1
    feed = await feeder.feed()
    assert feed is not None and feed.held.range_id == released
