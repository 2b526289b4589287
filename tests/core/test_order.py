"""The order of campaigns for one number, on a virtual clock: each turn sends one range.

Whatever comes and goes: no turn is idle while a campaign has work that it may send, no campaign goes before
one of a higher priority, and campaigns of one priority share as their weights say.
"""

from collections import Counter
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumbeat.engine.core.order import REMEMBERED_MAX, FairOrder, Priority, weights

RANGE_MAX = 1_000


@dataclass
class Campaign:
    """`opens`, `closes`: its window, in turns. `ranges`: how many it has; None: more than the test takes."""

    campaign_id: int
    priority: Priority = Priority.NORMAL
    share_percent: int | None = None
    range_size: int = RANGE_MAX
    opens: int = 0
    closes: int = 1_000_000
    ranges: int = 1_000_000

    def may_send(self, turn: int) -> bool:
        return self.opens <= turn < self.closes and self.ranges > 0


def serve_turn(order: FairOrder, campaigns: list[Campaign], turn: int) -> Campaign | None:
    """What a feeder does: the first campaign of the order that has a range gives one."""
    claimants = [campaign for campaign in campaigns if campaign.may_send(turn)]
    for campaign_id in order.in_order(claimants):
        [campaign] = [one for one in claimants if one.campaign_id == campaign_id]
        campaign.ranges -= 1
        order.serve(campaign_id, campaign.range_size, claimants)
        return campaign
    return None


def served(campaigns: list[Campaign], turns: int, order: FairOrder | None = None) -> list[int | None]:
    order = order or FairOrder()
    found = [serve_turn(order, campaigns, turn) for turn in range(turns)]
    return [None if campaign is None else campaign.campaign_id for campaign in found]


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        ([None, None], [50, 50]),
        ([30, None], [30, 70]),
        ([30, None, None], [30, 35, 35]),
        ([60, 20], [60, 20]),
        ([100, None], [100, 1]),
        ([90, 90, None], [90, 90, 1]),
    ],
)
def test_a_share_is_a_weight_and_the_others_divide_the_rest(
    shares: list[int | None], expected: list[float]
) -> None:
    campaigns = [Campaign(number, share_percent=share) for number, share in enumerate(shares)]
    assert list(weights(campaigns).values()) == expected


def test_campaigns_without_options_take_turns() -> None:
    assert served([Campaign(1), Campaign(2), Campaign(3)], 7) == [1, 2, 3, 1, 2, 3, 1]


def test_large_ranges_do_not_count_as_small_ones() -> None:
    turns = Counter(served([Campaign(1, range_size=1_000), Campaign(2, range_size=100)], 1_100))
    assert turns[2] == pytest.approx(10 * turns[1], abs=11)


def test_a_higher_priority_goes_first_and_the_lower_one_continues_afterwards() -> None:
    low, high = Campaign(1, Priority.LOW), Campaign(2, Priority.HIGH, opens=2, ranges=3)
    assert served([low, high], 7) == [1, 1, 2, 2, 2, 1, 1]


def test_a_campaign_that_waited_catches_up_on_nothing() -> None:
    late = Campaign(2, opens=100)
    assert Counter(served([Campaign(1), late], 200)[100:]) == {1: 50, 2: 50}


def test_a_campaign_with_a_new_priority_begins_beside_the_others_of_it() -> None:
    order, moved, other = FairOrder(), Campaign(1, Priority.LOW), Campaign(2, Priority.HIGH, opens=500)
    served([moved, other], 500, order)
    moved.priority = Priority.HIGH
    turns = [serve_turn(order, [moved, other], turn) for turn in range(500, 510)]
    assert Counter(campaign.campaign_id for campaign in turns if campaign) == {1: 5, 2: 5}


def test_what_is_remembered_does_not_grow_with_campaigns_that_came_and_went() -> None:
    order = FairOrder()
    for campaign_id in range(10 * REMEMBERED_MAX):
        order.serve(campaign_id, 1, [Campaign(campaign_id, Priority.URGENT)])
    assert len(order._virtual) <= REMEMBERED_MAX + 1


campaigns = st.builds(
    Campaign,
    campaign_id=st.just(0),
    priority=st.sampled_from(Priority),
    share_percent=st.none() | st.integers(1, 100),
    range_size=st.integers(1, RANGE_MAX),
    opens=st.integers(0, 60),
    closes=st.integers(0, 120),
    ranges=st.integers(0, 60),
)


def numbered(drawn: list[Campaign]) -> list[Campaign]:
    for campaign_id, campaign in enumerate(drawn, 1):
        campaign.campaign_id = campaign_id
    return drawn


@given(st.lists(campaigns, min_size=1, max_size=6).map(numbered))
def test_nobody_idles_while_there_is_work_and_nobody_passes_a_higher_priority(drawn: list[Campaign]) -> None:
    order = FairOrder()
    for turn in range(120):
        able = [campaign.priority for campaign in drawn if campaign.may_send(turn)]
        campaign = serve_turn(order, drawn, turn)
        assert (campaign and campaign.priority) == max(able, default=None)


@given(st.lists(campaigns, min_size=2, max_size=6).map(numbered), st.integers(50, 300))
def test_shares_hold_within_a_range_of_each_campaign(drawn: list[Campaign], turns: int) -> None:
    """Law of start-time fair queueing, between any two that always have recipients, at every moment."""
    order, got = FairOrder(), Counter[int]()
    for campaign in drawn:
        campaign.opens, campaign.ranges, campaign.closes = 0, 1_000_000, 1_000_000
        campaign.priority = Priority.NORMAL
    weight = weights(drawn)
    for turn in range(turns):
        campaign = serve_turn(order, drawn, turn)
        assert campaign is not None
        got[campaign.campaign_id] += campaign.range_size
        spent = [(got[one.campaign_id], one.range_size, weight[one.campaign_id]) for one in drawn]
        for mine, my_range, my_weight in spent:
            for others, their_range, their_weight in spent:
                bound = my_range / my_weight + their_range / their_weight
                assert mine / my_weight - others / their_weight <= bound + 1e-6
