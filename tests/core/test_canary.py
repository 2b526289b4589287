"""The verdict on a canary, at every moment of a virtual clock."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumbeat.engine.core.canary import CanaryCounts, CanaryVerdict, in_words, judge

WAIT_S = 900.0
SENT = CanaryCounts(recipients=100, unsent=0, skipped=0, on_the_way=0, arrived=0, failed=0)


@pytest.mark.parametrize(
    ("changes", "waited_s", "verdict"),
    [
        ({"unsent": 1, "arrived": 99}, 0, CanaryVerdict.SENDING),
        ({}, 0, CanaryVerdict.WAITING),
        ({"arrived": 95, "failed": 4}, 1, CanaryVerdict.WAITING),
        ({"arrived": 95, "failed": 5}, 1, CanaryVerdict.HEALTHY),
        ({"arrived": 94, "failed": 6}, 1, CanaryVerdict.FAILED),
        ({"unsent": 94, "failed": 6}, 0, CanaryVerdict.FAILED),
        ({"arrived": 94, "on_the_way": 6}, 899, CanaryVerdict.WAITING),
        ({"arrived": 94, "on_the_way": 6}, 900, CanaryVerdict.HEALTHY),
        ({"arrived": 50}, 900, CanaryVerdict.HEALTHY),
        ({"arrived": 49}, 900, CanaryVerdict.SILENT),
        ({"on_the_way": 50}, 900, CanaryVerdict.HEALTHY),
        ({}, 900, CanaryVerdict.SILENT),
        ({"skipped": 100}, 0, CanaryVerdict.HEALTHY),
        ({"skipped": 80, "arrived": 18, "failed": 2}, 1, CanaryVerdict.FAILED),
    ],
)
def test_a_verdict(changes: dict[str, int], waited_s: float, verdict: CanaryVerdict) -> None:
    """The limit is 5 % of those who are sent to."""
    assert judge(replace(SENT, **changes), "5%", waited_s, WAIT_S) is verdict


def test_it_is_said_in_words() -> None:
    words = in_words(replace(SENT, unsent=10, skipped=10, arrived=60, failed=2))
    assert words == "80 sent to, 60 arrived, 2 failed (2.5 %)"
    assert in_words(replace(SENT, unsent=100)) == "0 sent to, 0 arrived, 0 failed"


steps = st.lists(st.sampled_from(["send", "skip", "on_the_way", "arrive", "fail", "wait"]), max_size=80)


@given(steps, st.integers(1, 12), st.integers(0, 3))
def test_whatever_the_order_of_events_the_rest_follows_only_a_healthy_canary(
    happened: list[str], recipients: int, allowed: int
) -> None:
    """Each event concerns one recipient of it, or lets a minute of fifteen pass."""
    counts, waited_s = CanaryCounts(recipients, recipients, 0, 0, 0, 0), 0.0
    for event in happened:
        silent = counts.sent_to - counts.reported
        match event:
            case "send" if counts.unsent:
                counts = replace(counts, unsent=counts.unsent - 1)
            case "skip" if counts.unsent:
                counts = replace(counts, unsent=counts.unsent - 1, skipped=counts.skipped + 1)
            case "on_the_way" if silent:
                counts = replace(counts, on_the_way=counts.on_the_way + 1)
            case "arrive" if counts.on_the_way:
                counts = replace(counts, on_the_way=counts.on_the_way - 1, arrived=counts.arrived + 1)
            case "fail" if silent:
                counts = replace(counts, failed=counts.failed + 1)
            case "wait" if not counts.unsent:
                waited_s += 60.0
        verdict = judge(counts, str(allowed), waited_s, WAIT_S)
        assert (verdict is CanaryVerdict.FAILED) == (counts.failed > allowed)
        if verdict is CanaryVerdict.HEALTHY:
            assert counts.unsent == 0 and counts.failed <= allowed
            assert 2 * counts.reported >= counts.sent_to
        if waited_s >= WAIT_S and not counts.unsent:
            assert verdict is not CanaryVerdict.WAITING, "the wait is bounded"
