"""No more requests are open than a service carries: one that queues is not drowned, one that is slow is not starved."""

from bisect import bisect_left
from collections import deque
from collections.abc import Callable

import pytest

from engine.core.bucket import SECOND_NS
from engine.core.carried import CARRIED_S, SLOT_NS, UNBOUNDED, Carried
from engine.core.concurrency import OPEN_MIN, Concurrency
from engine.core.strain import Load

TICK_NS = 4_000_000
GIVEN_UP_S = 30.0  # a reply that takes longer leaves a doubt


class QueueingService:
    """Answers one after the other, `carries_per_s` at most, each after `latency_s` at least; in virtual time."""

    def __init__(self, limit_per_s: float, carries_per_s: float, latency_s: float) -> None:
        self.limit_per_s, self.carries_per_s, self.latency_s = limit_per_s, carries_per_s, latency_s
        self.longest_s = 0.0
        self.open = 0
        self._now_ns = 0
        self._concurrency = Concurrency()
        self._replies: deque[tuple[int, int]] = deque()  # (reply, write)
        self._free = 0
        self._written: list[int] = []
        self._permits = 0.0

    def run(self, seconds: float) -> float:
        """The rate of replies in these seconds."""
        replies, end_ns = 0, self._now_ns + int(seconds * SECOND_NS)
        while self._now_ns < end_ns:
            self._now_ns += TICK_NS
            replies += self._answer()
            self._permits = min(self._permits + self.limit_per_s * TICK_NS / SECOND_NS, 8.0)
            self._serve(int(self._permits))
        return replies / seconds

    def _answer(self) -> int:
        replies = 0
        while self._replies and self._replies[0][0] <= self._now_ns:
            latency_ns = self._now_ns - self._replies.popleft()[1]
            self._concurrency.answered(latency_ns)
            self.longest_s = max(self.longest_s, latency_ns / SECOND_NS)
            self.open -= 1
            self._free += 1
            replies += 1
        if replies:
            self._concurrency.flows(self._now_ns, replies)
        return replies

    def _serve(self, due: int) -> None:
        due = min(due, self._concurrency.writable(self._now_ns, self.open, self.limit_per_s))
        kept = min(due, self._free)
        self._free -= kept
        self._write(kept)
        if due > kept:
            openable = self._concurrency.openable(
                self._now_ns, waiting=self.open, approaching=0, rate_per_s=self.limit_per_s,
                limit_per_s=self.limit_per_s, load=Load.CALM,
                missed=self._concurrency.missed(self._now_ns, self._written_between),
            )  # fmt: skip
            self._write(min(due - kept, openable))

    def _written_between(self, begin_ns: int, end_ns: int) -> int:
        return bisect_left(self._written, end_ns) - bisect_left(self._written, begin_ns)

    def _write(self, count: int) -> None:
        self._permits -= count
        self._written += [self._now_ns] * count
        self.open += count
        for _ in range(count):
            last_ns = self._replies[-1][0] if self._replies else 0
            after_ns = last_ns + int(SECOND_NS / self.carries_per_s)
            self._replies.append(
                (max(self._now_ns + int(self.latency_s * SECOND_NS), after_ns), self._now_ns)
            )


@pytest.mark.parametrize(
    ("limit_per_s", "carries_per_s"), [(1_000, 100), (1_000, 10), (80, 5), (80, 40), (20, 1)]
)
def test_a_service_that_queues_what_it_cannot_answer_is_not_drowned(
    limit_per_s: float, carries_per_s: float
) -> None:
    service = QueueingService(limit_per_s, carries_per_s, latency_s=0.05)
    service.run(40)
    assert service.run(40) == pytest.approx(carries_per_s, rel=0.05), "what it answers is all used"
    assert service.longest_s < GIVEN_UP_S, "nobody is in doubt for it"
    assert service.open <= 1 + max(OPEN_MIN, 1.1 * CARRIED_S * carries_per_s)


@pytest.mark.parametrize("carries_per_s", [10, 100])
def test_a_service_that_begins_to_queue_is_not_drowned(carries_per_s: float) -> None:
    service = QueueingService(1_000, 5_000, latency_s=0.05)
    assert service.run(5) > 950
    service.carries_per_s = carries_per_s
    service.run(60)
    before_s, service.longest_s = service.longest_s, 0.0
    service.run(20)
    assert service.open <= 1 + max(OPEN_MIN, 1.1 * CARRIED_S * carries_per_s)
    assert service.longest_s < 2 * CARRIED_S < GIVEN_UP_S
    if carries_per_s == 100:
        assert before_s < GIVEN_UP_S


@pytest.mark.parametrize(("limit_per_s", "latency_s"), [(1_000, 1.0), (1_000, 0.005), (250, 3.0), (20, 2.0)])
def test_a_service_that_is_only_slow_gets_all_that_is_permitted(limit_per_s: float, latency_s: float) -> None:
    service = QueueingService(limit_per_s, 100_000, latency_s)
    service.run(3 * latency_s + 1)
    assert service.run(10) >= 0.99 * limit_per_s


def test_a_service_that_grows_slow_gets_all_that_is_permitted_again() -> None:
    service = QueueingService(1_000, 100_000, latency_s=0.005)
    service.run(5)
    service.latency_s = 1.0
    service.run(4)
    assert service.run(10) >= 990


def test_a_limit_that_is_raised_takes_effect_at_once_whatever_was_answered_before() -> None:
    service = QueueingService(80, 100_000, latency_s=1.0)
    service.run(5)
    service.limit_per_s = 1_000
    service.run(2)
    assert service.run(5) >= 950


def known(replies: int, seconds: float) -> Carried:
    carried = Carried()
    carried.replied(0, 0)
    for slot in range(1, int(seconds * SECOND_NS / SLOT_NS) + 1):
        carried.replied(slot * SLOT_NS, replies)
        carried.most(slot * SLOT_NS, 100)
    return carried


def test_nothing_is_known_before_replies_have_come_for_a_while_nor_after_a_rest() -> None:
    carried = Carried()
    assert carried.most(5 * SECOND_NS, 100) == UNBOUNDED
    carried.replied(5 * SECOND_NS, 7)
    assert carried.most(5 * SECOND_NS + SLOT_NS - 1, 100) == UNBOUNDED
    assert carried.most(5 * SECOND_NS + SLOT_NS, 100) == int(7 * CARRIED_S * SECOND_NS / SLOT_NS)
    carried.rests()
    assert carried.most(6 * SECOND_NS, 100) == UNBOUNDED
    carried.replied(9 * SECOND_NS, 1)
    assert carried.most(9 * SECOND_NS + SLOT_NS, 100) == int(CARRIED_S * SECOND_NS / SLOT_NS)


@pytest.mark.parametrize(
    ("later_ns", "share"),
    [(0, 1.0), (SLOT_NS, 7 / 8), (4 * SLOT_NS, 0.5), (8 * SLOT_NS, 0.0), (SECOND_NS * 3600, 0.0)],
)
def test_what_was_answered_two_seconds_ago_counts_no_more(later_ns: int, share: float) -> None:
    carried, end_ns = known(25, 10), 10 * SECOND_NS + SLOT_NS - 1
    carried.replied(end_ns, 0)
    assert carried.most(end_ns + later_ns, 100) == pytest.approx(100 * CARRIED_S * share, rel=0.02, abs=1)


@pytest.mark.parametrize("change", [lambda limit: limit * 12.5, lambda limit: limit / 4])
def test_it_is_believed_in_proportion_under_another_limit(change: Callable[[float], float]) -> None:
    before, after = known(25, 10), known(25, 10)
    now_ns = 10 * SECOND_NS
    assert after.most(now_ns, change(100)) == pytest.approx(change(before.most(now_ns, 100)), rel=0.01)
    assert after.most(now_ns, change(100)) == pytest.approx(change(before.most(now_ns, 100)), rel=0.01)


def test_after_a_change_of_the_limit_only_the_last_two_seconds_count_all_the_same() -> None:
    carried = Carried()
    for slot in range(20):
        carried.replied(slot * SLOT_NS, 25)
        carried.most(slot * SLOT_NS, 100)
    assert carried.most(20 * SLOT_NS, 200) > 800
    assert carried.most(40 * SLOT_NS, 200) == 0, "five seconds without a reply"


def test_a_silent_service_is_asked_a_little_and_a_rest_forgets_its_silence() -> None:
    concurrency = Concurrency()
    concurrency.flows(SECOND_NS, 1)
    later_ns = 60 * SECOND_NS
    assert concurrency.writable(later_ns, 0, 1_000) == OPEN_MIN
    assert concurrency.writable(later_ns, OPEN_MIN + 1, 1_000) == 0
    concurrency.rests()
    assert concurrency.writable(later_ns, 0, 1_000) == UNBOUNDED
