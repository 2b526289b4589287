"""Open requests follow rate times latency: no setting, no flood of connections after a stall."""

from typing import Any

from engine.core.bucket import SECOND_NS
from engine.core.concurrency import (
    EXTRA_PERIOD_NS,
    LATENCY_S_MAX,
    OPEN_MAX,
    OPEN_MIN,
    REPLIES_MISSED_MIN,
    SPARE,
    STANDSTILL_NS_MAX,
    Concurrency,
)  # fmt: skip
from engine.core.strain import Load

MS = 1_000_000


def openable(
    concurrency: Concurrency,
    waiting: int = 0,
    *,
    approaching: int = 0,
    rate_per_s: float = 1_000,
    load: Load = Load.CALM,
    kept: bool = True,
    missed: int = 0,
    now_ns: int = 0,
) -> int:
    return concurrency.openable(
        now_ns, waiting=waiting, approaching=approaching, rate_per_s=rate_per_s, limit_per_s=rate_per_s, load=load,
        kept=kept, missed=missed,
    )  # fmt: skip


def most(concurrency: Concurrency, **others: Any) -> int:
    """How many are open when no more may be, from none on."""
    waiting = 0
    while (more := openable(concurrency, waiting, **others)) > 0:
        waiting += more
    return waiting


def after(*latencies_ns: int) -> Concurrency:
    concurrency = Concurrency()
    for latency_ns in latencies_ns:
        concurrency.answered(latency_ns)
    return concurrency


def test_at_first_a_few_then_as_many_again_as_wait() -> None:
    concurrency = Concurrency()
    assert openable(concurrency) == OPEN_MIN
    assert openable(concurrency, approaching=OPEN_MIN - 1) == 1
    assert openable(concurrency, 100) == 100
    assert openable(concurrency, 100, approaching=40) == 60


def test_a_service_of_unknown_latency_gets_what_it_needs_and_a_busy_loop_waits_for_a_reply() -> None:
    assert most(Concurrency()) == most(Concurrency(), rate_per_s=5_000) == OPEN_MAX
    assert openable(Concurrency(), approaching=2, load=Load.LATE) == OPEN_MIN - 2
    assert openable(Concurrency(), OPEN_MIN, load=Load.LATE) == 0


def test_no_more_than_rate_times_latency_with_room_to_spare() -> None:
    slow = after(*[500 * MS] * 50)
    assert most(slow, load=Load.LATE) == 1_000 * 0.5 * SPARE
    assert most(after(*[MS] * 50), load=Load.LATE) == OPEN_MIN


def test_the_present_rate_asks_and_the_limit_bounds() -> None:
    def left(
        concurrency: Concurrency,
        waiting: int,
        approaching: int,
        rate: float,
        limit: float,
        load: Load = Load.LATE,
    ) -> int:
        return concurrency.openable(
            0, waiting=waiting, approaching=approaching, rate_per_s=rate, limit_per_s=limit, load=load
        )

    slow = after(*[500 * MS] * 50)
    assert left(slow, 60, 0, rate=100, limit=1_000) == 100 * 0.5 * SPARE - 60
    assert left(slow, 60, 30, rate=100, limit=1_000) == 100 * 0.5 * SPARE - 60 - 30
    assert left(after(*[10 * SECOND_NS] * 50), 390, 0, rate=100, limit=100) == 100 * LATENCY_S_MAX - 390
    assert left(Concurrency(), 300, 0, rate=10, limit=100, load=Load.CALM) == 100 * LATENCY_S_MAX - 300


def test_a_stall_asks_for_no_connections() -> None:
    """Of each hundred replies ten wait for a tenth of a second: the mean would be 11 ms."""
    uneven = after(*([MS] * 90 + [100 * MS] * 10) * 20)
    assert most(uneven, load=Load.LATE) <= 2 * OPEN_MIN


def test_a_service_that_grows_slower_is_followed_within_forty_replies_and_back() -> None:
    concurrency = after(*[MS] * 200, *[500 * MS] * 40)
    assert most(concurrency, load=Load.LATE) > 900
    for _ in range(40):
        concurrency.answered(MS)
    assert most(concurrency, load=Load.LATE) == OPEN_MIN


def test_where_that_is_too_little_one_more_now_and_then_but_not_in_a_busy_loop() -> None:
    concurrency, now_ns = after(*[MS] * 50), 5 * SECOND_NS
    assert openable(concurrency, OPEN_MIN, now_ns=now_ns, load=Load.LATE) == 0
    assert openable(concurrency, OPEN_MIN, now_ns=now_ns, approaching=1) == 0
    assert openable(concurrency, OPEN_MIN, now_ns=now_ns) == 1
    assert openable(concurrency, OPEN_MIN + 1, now_ns=now_ns + EXTRA_PERIOD_NS - 1) == 0
    assert openable(concurrency, OPEN_MIN + 1, now_ns=now_ns + EXTRA_PERIOD_NS) == 1
    assert openable(concurrency, OPEN_MAX, now_ns=now_ns + 9 * EXTRA_PERIOD_NS) == 0


def test_a_service_that_stands_still_gets_no_more_connections_and_one_that_is_slow_does() -> None:
    concurrency, now_ns = after(*[100 * MS] * 50), 5 * SECOND_NS
    concurrency.flows(now_ns, 1)
    assert openable(concurrency, 20, missed=REPLIES_MISSED_MIN, now_ns=now_ns + 50 * MS) == 20
    assert openable(concurrency, 20, missed=REPLIES_MISSED_MIN + 1, now_ns=now_ns + 50 * MS) == 0
    assert openable(concurrency, 20, missed=REPLIES_MISSED_MIN + 1, now_ns=now_ns + STANDSTILL_NS_MAX) == 20


def test_replies_are_missed_that_a_latency_after_their_writes_have_not_come() -> None:
    writes = [5 * SECOND_NS + 10 * MS * turn for turn in range(100)]

    def written_between(begin_ns: int, end_ns: int) -> int:
        return sum(begin_ns <= write_ns < end_ns for write_ns in writes)

    concurrency = Concurrency()
    assert concurrency.missed(6 * SECOND_NS, written_between) == 0, "nothing has been answered yet"
    concurrency.flows(5 * SECOND_NS, 1)
    assert concurrency.missed(6 * SECOND_NS, written_between) == 0, "nor how fast"
    concurrency = after(*[300 * MS] * 50)
    concurrency.flows(5 * SECOND_NS + 400 * MS, 10)  # to what was written until 100 ms after the first
    assert concurrency.missed(5 * SECOND_NS + 400 * MS, written_between) == 0
    assert concurrency.missed(5 * SECOND_NS + 450 * MS, written_between) == 5
    assert concurrency.missed(9 * SECOND_NS, written_between) == 90
    concurrency.rests()
    assert concurrency.missed(9 * SECOND_NS, written_between) == 0, "a pause of ours"


def test_where_no_connection_is_kept_neither_a_pause_nor_uneven_latencies_hold_messages_up() -> None:
    uneven, now_ns = after(*[MS] * 50), 5 * SECOND_NS
    uneven.flows(now_ns - 100 * MS, 1)
    assert openable(uneven, 20, missed=99, now_ns=now_ns) == 0, "a service that stands still"
    assert openable(uneven, 100, missed=99, now_ns=now_ns, kept=False) == 100
    slow = after(*[500 * MS] * 50)
    assert most(slow, load=Load.FULL, kept=False) >= 1_000 * 0.5 * SPARE


def test_a_full_core_opens_nothing_beyond_a_few() -> None:
    slow = after(*[500 * MS] * 50)
    assert most(slow, load=Load.FULL) == OPEN_MIN
    assert openable(slow, 2 * OPEN_MIN, load=Load.FULL, now_ns=5 * SECOND_NS) == 0
