"""A service that stood still is noticed when it goes on; one that is uneven, slow or idle is not taken for it."""

import random

from engine.core.standstill import SPAN_NS, STANDSTILL_NS_MAX, STANDSTILL_NS_MIN, Standstill

MS = 1_000_000
TICK_NS = 2 * MS


class Looks:
    """Looks every two milliseconds at a service of 1,000 replies a second."""

    def __init__(self) -> None:
        self.standstill = Standstill(0)
        self.now_ns = self.answers = 0
        self.seen: list[tuple[int, int]] = []

    def pass_by(self, duration_ns: int, answers_per_ms: float, late_ns: int = 0) -> None:
        end_ns, owed = self.now_ns + duration_ns, 0.0
        while self.now_ns < end_ns:
            self.now_ns += TICK_NS
            owed += answers_per_ms * TICK_NS / MS
            self.answers, owed = self.answers + int(owed), owed % 1
            if (since_ns := self.standstill.look(self.now_ns, self.answers, late_ns)) is not None:
                self.seen.append((since_ns, self.now_ns))


def test_a_gap_in_all_replies_that_end_late_is_a_standstill() -> None:
    looks = Looks()
    looks.pass_by(2 * SPAN_NS, 1)
    stopped_ns = looks.now_ns
    looks.pass_by(30 * MS, 0)
    assert looks.seen == [], "it is told when the service goes on"
    looks.pass_by(TICK_NS, 1, late_ns=40 * MS)
    assert looks.seen == [(stopped_ns, stopped_ns + 30 * MS + TICK_NS)], "no longer than the gap"
    looks.pass_by(30 * MS, 0)
    looks.pass_by(TICK_NS, 1, late_ns=20 * MS)
    assert looks.seen[1:] == [(looks.now_ns - 20 * MS, looks.now_ns)], "no longer than replies are late"


def test_a_gap_in_what_was_written_is_none() -> None:
    looks = Looks()
    looks.pass_by(2 * SPAN_NS, 1)
    looks.pass_by(30 * MS, 0)
    looks.pass_by(10 * MS, 1, late_ns=2 * MS)
    assert looks.seen == []


def test_what_the_pace_leaves_free_and_what_is_a_pause_are_none() -> None:
    for gap_ns in (STANDSTILL_NS_MIN - 2 * TICK_NS, STANDSTILL_NS_MAX):
        looks = Looks()
        looks.pass_by(2 * SPAN_NS, 1)
        looks.pass_by(gap_ns, 0)
        looks.pass_by(TICK_NS, 1, late_ns=gap_ns + TICK_NS)
        assert looks.seen == []


def test_few_replies_leave_gaps_of_their_own() -> None:
    looks = Looks()
    looks.pass_by(20 * SPAN_NS, 0.08, late_ns=50 * MS)
    assert looks.seen == [], "80 a second: one each 12 ms"
    looks.pass_by(100 * MS, 0)
    looks.pass_by(20 * MS, 0.08, late_ns=110 * MS)
    assert len(looks.seen) == 1, "eight in a row are missing"


def test_replies_that_are_late_by_chance_are_hardly_ever_taken_for_it() -> None:
    chance, standstill = random.Random(1), Standstill(0)
    answers = seen = 0
    for tick in range(1, 50_000):
        answers += sum(chance.random() < 0.002 for _ in range(1_000))
        seen += standstill.look(tick * TICK_NS, answers, 50 * MS) is not None
    assert seen <= 20, "in a hundred seconds"
