"""What each number did for each campaign, counted from batches of requests."""

import pytest

from drumbeat.engine.sending import attempt_statistics as module
from drumbeat.engine.sending.attempt_statistics import AttemptStatistics, active_us
from drumbeat.engine.store.facts import Fact, FactKind

AT_US = 1_700_000_000_000_000


def attempted(campaign_id: int = 1, at_s: float = 0.0, number: str = "1", throttled: bool = False) -> Fact:
    at_us = AT_US + int(at_s * 1_000_000)
    kind = FactKind.DEFERRED if throttled else FactKind.ACCEPTED
    return Fact(campaign_id, 1, 1, 1, 1, number, kind, attempted_us=at_us, throttled=throttled)


def active_s(attempt_statistics: AttemptStatistics, campaign_id: int, at_s: float) -> float:
    [counted] = attempt_statistics.count([attempted(campaign_id, at_s)], 0.0)
    return counted.active_s


@pytest.mark.parametrize(
    ("before", "times", "active"),
    [
        (10, [10], 0),
        (10, [10.5, 10.25], 0.5),
        (10, [11, 10.5, 11.5], 1.5),
        (10, [15], 1),
        (10, [10.5, 300, 300.25], 1.75),
        (10, [9, 9.5], 0),
        (10, [9, 12], 1),
    ],
)
def test_a_pause_between_attempts_counts_as_a_second(
    before: float, times: list[float], active: float
) -> None:
    in_us = [int(at_s * 1_000_000) for at_s in times]
    assert active_us(before * 1_000_000, in_us) == active * 1_000_000


def test_each_number_is_counted_for_each_campaign_and_the_time_of_the_process_is_shared_out() -> None:
    attempt_statistics = AttemptStatistics(cpu_s=2.0)
    attempt_statistics.limits_per_s["1"] = 80.0
    facts = [attempted(), attempted(at_s=0.5, throttled=True), attempted(2), attempted(number="2")]
    unwritten = Fact(3, 1, 1, 1, 1, "1", FactKind.DEFERRED)
    first, second, third = attempt_statistics.count([*facts, unwritten], cpu_s=3.0)
    assert (first.campaign_id, first.phone_number_id, first.limit_per_s) == (1, "1", 80.0)
    assert (first.attempts, first.accepted, first.throttled, first.active_s) == (2, 1, 1, 0.5)
    assert (first.first_attempt_us, first.last_attempt_us) == (AT_US, AT_US + 500_000)
    assert [statistic.cpu_s for statistic in (first, second, third)] == [0.5, 0.25, 0.25]
    assert [(statistic.campaign_id, statistic.phone_number_id) for statistic in (second, third)] == [
        (2, "1"),
        (1, "2"),
    ]


def test_batches_are_numbered_and_two_processes_named_apart() -> None:
    attempt_statistics, other = AttemptStatistics(0.0), AttemptStatistics(0.0)
    batches = [attempt_statistics.count([attempted()], 0.0)[0] for _ in range(2)]
    assert [batch.batch for batch in batches] == [1, 2]
    assert (
        batches[0].results_writer
        == batches[1].results_writer
        != other.count([attempted()], 0.0)[0].results_writer
    )


def test_a_clock_that_is_put_back_costs_one_pause_and_not_the_time_since() -> None:
    attempt_statistics = AttemptStatistics(0.0)
    assert [active_s(attempt_statistics, 1, at_s) for at_s in (0, 0.5, -3_600, -3_599.5)] == [0, 0.5, 0, 0.5]
    assert [active_s(attempt_statistics, 1, at_s) for at_s in (-3_600, -3_599)] == [0, 0.5], (
        "one that is only late tells nothing new"
    )


def test_only_the_last_requests_of_a_bounded_number_of_campaigns_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "LAST_MAX", 2)
    attempt_statistics = AttemptStatistics(0.0)
    for index, campaign_id in enumerate((1, 2, 1, 3)):
        active_s(attempt_statistics, campaign_id, index / 10)
    assert active_s(attempt_statistics, 1, 0.5) == pytest.approx(0.3), "used since: still known"
    assert active_s(attempt_statistics, 2, 0.5) == 0, "forgotten: it begins anew"


@pytest.mark.parametrize(
    ("kind", "written", "throttled", "name"),
    [
        (FactKind.ACCEPTED, True, False, "accepted"),
        (FactKind.FAILED, True, False, "failed"),
        (FactKind.DEFERRED, True, False, "deferred"),
        (FactKind.DEFERRED, True, True, "throttled"),
        (FactKind.FAILED, True, True, "throttled"),
        (FactKind.UNKNOWN, True, False, "in_doubt"),
        (FactKind.DEFERRED, False, False, "not_sent"),
        (FactKind.FAILED, False, False, "failed"),
    ],
)
def test_outcomes_are_counted_by_number_and_name(
    kind: FactKind, written: bool, throttled: bool, name: str
) -> None:
    attempt_statistics = AttemptStatistics(0.0)
    at_us = AT_US if written else None
    facts = [Fact(1, 1, seq, 1, 1, "1", kind, attempted_us=at_us, throttled=throttled) for seq in range(3)]
    attempt_statistics.count(facts, 0.0)
    attempt_statistics.count([attempted(number="2"), *facts[:1]], 0.0)
    counted = {key: count for key, count in attempt_statistics.outcomes.items() if count}
    assert counted == {("1", name): 4, ("2", "accepted"): 1}
