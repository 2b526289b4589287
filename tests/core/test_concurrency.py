"""Open requests follow rate times latency: no setting, no flood of connections after a stall."""

from engine.core.concurrency import EXTRA_PERIOD_NS, OPEN_MAX, OPEN_MIN, SECOND_NS, SPARE, Concurrency

MS = 1_000_000


def openable(
    concurrency: Concurrency,
    waiting: int = 0,
    *,
    approaching: int = 0,
    rate_per_s: float = 1_000,
    busy: bool = False,
    now_ns: int = 0,
) -> int:
    return concurrency.openable(
        now_ns, waiting=waiting, approaching=approaching, rate_per_s=rate_per_s, limit_per_s=rate_per_s, busy=busy
    )  # fmt: skip


def most(concurrency: Concurrency, **others: bool) -> int:
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
    assert most(Concurrency()) == OPEN_MAX
    assert openable(Concurrency(), approaching=2, busy=True) == OPEN_MIN - 2
    assert openable(Concurrency(), OPEN_MIN, busy=True) == 0


def test_no_more_than_rate_times_latency_with_room_to_spare() -> None:
    slow = after(*[500 * MS] * 50)
    assert most(slow, busy=True) == 1_000 * 0.5 * SPARE
    assert most(after(*[MS] * 50), busy=True) == OPEN_MIN


def test_a_stall_asks_for_no_connections() -> None:
    """Of each hundred replies ten wait for a tenth of a second: the mean would be 11 ms."""
    uneven = after(*([MS] * 90 + [100 * MS] * 10) * 20)
    assert most(uneven, busy=True) <= 2 * OPEN_MIN


def test_a_service_that_grows_slower_is_followed_within_forty_replies_and_back() -> None:
    concurrency = after(*[MS] * 200, *[500 * MS] * 40)
    assert most(concurrency, busy=True) > 900
    for _ in range(40):
        concurrency.answered(MS)
    assert most(concurrency, busy=True) == OPEN_MIN


def test_where_that_is_too_little_one_more_now_and_then_but_not_in_a_busy_loop() -> None:
    concurrency, now_ns = after(*[MS] * 50), 5 * SECOND_NS
    assert openable(concurrency, OPEN_MIN, now_ns=now_ns, busy=True) == 0
    assert openable(concurrency, OPEN_MIN, now_ns=now_ns, approaching=1) == 0
    assert openable(concurrency, OPEN_MIN, now_ns=now_ns) == 1
    assert openable(concurrency, OPEN_MIN + 1, now_ns=now_ns + EXTRA_PERIOD_NS - 1) == 0
    assert openable(concurrency, OPEN_MIN + 1, now_ns=now_ns + EXTRA_PERIOD_NS) == 1
    assert openable(concurrency, OPEN_MAX, now_ns=now_ns + 9 * EXTRA_PERIOD_NS) == 0
