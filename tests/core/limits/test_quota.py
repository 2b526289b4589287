"""The messaging limit: in no 24 hours more people than the limit, whatever the order of messages, replies and restarts."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumbeat.engine.core.limits.quota import (
    COUNTED_S,
    GATHER_S,
    MARGIN_S,
    PROBE_S,
    WINDOW_S,
    Person,
    QuotaScope,
    QuotaStanding,
    admitted,
    admitted_in_order,
    in_words,
    is_quota,
    limits,
    rest_s,
)
from drumbeat.engine.core.limits.tier import SaidTier
from drumbeat.engine.core.outcome import Scope, Throttled

NEW, COUNTED, OPEN = Person.NEW, Person.COUNTED, Person.IN_CONVERSATION
NOW = datetime(2026, 5, 1, 17, tzinfo=UTC)
CLAIM_TO_ARRIVAL_S_MAX = 32.0  # 2 s of a claim, 30 s of a request


@pytest.mark.parametrize(
    ("about", "left", "people", "each", "in_order"),
    [
        ("nothing to ask", 3, [], [], []),
        ("all of them", 2, [NEW, NEW], [True, True], [True, True]),
        ("the first ones", 1, [NEW, NEW, NEW], [True, False, False], [True, False, False]),
        ("nobody new", 0, [NEW], [False], [False]),
        ("who is counted takes nothing", 0, [COUNTED, OPEN], [True, True], [True, True]),
        ("a watermark skips nobody", 1, [NEW, NEW, COUNTED], [True, False, True], [True, False, False]),
        ("after a smaller limit", -5, [OPEN, NEW, COUNTED], [True, False, True], [True, False, False]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_who_may_be_written_to(
    about: str, left: int, people: list[Person], each: list[bool], in_order: list[bool]
) -> None:
    assert admitted(left, people) == each
    assert admitted_in_order(left, people) == in_order


@pytest.mark.parametrize(
    ("tiers", "scope", "found"),
    [
        ({"1": "TIER_250", "2": "TIER_1K"}, QuotaScope.NUMBER, {"1": 250, "2": 1_000}),
        (
            {"1": "TIER_2K", "2": "TIER_50", "3": "tier_1M"},
            QuotaScope.NUMBER,
            {"1": 2_000, "2": 50, "3": 1_000_000},
        ),
        ({"1": "TIER_UNLIMITED", "2": None, "3": ""}, QuotaScope.NUMBER, {}),
        (
            {"1": "TIER_NEW", "2": "TIER_0", "3": "UNLIMITED"},
            QuotaScope.NUMBER,
            {"1": 250, "2": 250, "3": 250},
        ),
        ({"1": "TIER_NEW", "2": "TIER_2K"}, QuotaScope.ACCOUNT, {"1": 2_000, "2": 2_000}),
        ({"1": "TIER_NEW", "2": None}, QuotaScope.ACCOUNT, {"1": 250, "2": 250}),
        (
            {"1": "TIER_10K", "2": "TIER_1K", "3": None},
            QuotaScope.ACCOUNT,
            {"1": 1_000, "2": 1_000, "3": 1_000},
        ),
        ({"1": "TIER_UNLIMITED", "2": None}, QuotaScope.ACCOUNT, {}),
    ],
)
def test_which_numbers_are_limited(
    tiers: dict[str, str | None], scope: QuotaScope, found: dict[str, int]
) -> None:
    assert limits({number: SaidTier(word) for number, word in tiers.items()}, scope) == found


USED_UP = QuotaStanding(1_000, 1_000, NOW + timedelta(minutes=20))


@pytest.mark.parametrize(
    ("refusal", "standing", "found"),
    [
        (Throttled(Scope.NUMBER, 130429, None, ""), USED_UP, True),
        (Throttled(Scope.NUMBER, 130429, None, ""), QuotaStanding(1_000, 999), False),
        (Throttled(Scope.NUMBER, 130429, None, ""), None, False),
        (Throttled(Scope.NUMBER, None, None, ""), USED_UP, False),  # a 429 of a gateway
        (Throttled(Scope.ACCOUNT, 80007, None, ""), USED_UP, False),
        (Throttled(Scope.PAIR, 131056, None, ""), USED_UP, False),
    ],
)
def test_what_is_a_quota_and_what_a_pace(
    refusal: Throttled, standing: QuotaStanding | None, found: bool
) -> None:
    assert is_quota(refusal, standing) is found


@pytest.mark.parametrize(
    ("more_in_s", "rests_s"), [(None, PROBE_S), (-5.0, GATHER_S), (1_200.0, 1_200.0), (80_000.0, PROBE_S)]
)
def test_how_long_a_number_rests(more_in_s: float | None, rests_s: float) -> None:
    more_at = None if more_in_s is None else NOW + timedelta(seconds=more_in_s)
    assert rest_s(QuotaStanding(250, 250, more_at), NOW) == rests_s


def test_the_words_name_the_first_moment() -> None:
    later = QuotaStanding(250, 250, NOW + timedelta(hours=3))
    words = "messaging limit: 1,250 of 1,250 people in 24 hours; goes on at 2026-05-01 17:20:00Z"
    assert in_words([later, USED_UP]) == words
    assert in_words([QuotaStanding(250, 250)]) == "messaging limit: 250 of 250 people in 24 hours"


class Ledger:
    """Counts as `engine/store/sql/queries/quota.sql` does, in the time of a virtual clock."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.counted_s: dict[int, float] = {}

    def admit(self, people: list[int], now_s: float) -> list[int]:
        self.counted_s = {who: at_s for who, at_s in self.counted_s.items() if at_s > now_s - COUNTED_S}
        kinds = [COUNTED if who in self.counted_s else NEW for who in people]
        may = admitted_in_order(self.limit - len(self.counted_s), kinds)
        written = [who for who, allowed in zip(people, may, strict=True) if allowed]
        self.counted_s |= dict.fromkeys(written, now_s)
        return written


claims = st.lists(
    st.tuples(
        st.floats(0, 40_000),  # after the last claim
        st.sets(st.integers(0, 30), min_size=1, max_size=6),
        st.floats(0, CLAIM_TO_ARRIVAL_S_MAX),  # until the request arrives
    ),
    max_size=40,
)


@given(st.integers(1, 12), claims)
def test_no_24_hours_hold_more_people_than_the_limit(
    limit: int, asked: list[tuple[float, set[int], float]]
) -> None:
    """By the times of arrival, which the service counts."""
    ledger, now_s, arrivals = Ledger(limit), 0.0, []
    for after_s, people, delay_s in asked:
        now_s += after_s
        arrivals += [(now_s + delay_s, who) for who in ledger.admit(sorted(people), now_s)]
    for end_s, _ in arrivals:
        assert len({who for at_s, who in arrivals if end_s - WINDOW_S < at_s <= end_s}) <= limit
    assert MARGIN_S >= CLAIM_TO_ARRIVAL_S_MAX


@given(st.integers(1, 20), st.integers(1, 100))
def test_everybody_is_written_to_in_the_least_days(limit: int, people: int) -> None:
    ledger, waiting, days = Ledger(limit), list(range(people)), 0
    while waiting:
        written = ledger.admit(waiting, days * (COUNTED_S + GATHER_S))
        waiting, days = waiting[len(written) :], days + 1
    assert days == -(-people // limit)
