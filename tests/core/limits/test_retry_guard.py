"""A retry goes only to someone who is still failed, and after 131049 only when a day is over."""

import pytest

from drumbeat.engine.core.limits.guard import PASS, Defer, Refuse, Verdict
from drumbeat.engine.core.limits.retry_guard import EarlierRecipient, check_retry
from drumbeat.engine.core.states import RecipientState
from drumbeat.engine.store.retried import strictest

DAY_S = 86_400.0


@pytest.mark.parametrize("state", [state for state in RecipientState if state is not RecipientState.FAILED])
def test_no_other_state_is_sent_to(state: RecipientState) -> None:
    verdict = check_retry(EarlierRecipient("spring", state, 131049, 10 * DAY_S))
    assert verdict == Refuse(f'no retry: {state} in "spring"')


@pytest.mark.parametrize(
    ("code", "failed_for_s", "wait_s"),
    [
        (131026, 0.0, None),
        (None, None, None),
        (131049, DAY_S, None),
        (131049, DAY_S - 1, 1.0),
        (131049, 0.0, DAY_S),
        (131049, None, None),  # settled without a time, by a person: nothing says that it was lately
    ],
)
def test_who_is_failed_is_sent_to_at_once_or_after_a_day(
    code: int | None, failed_for_s: float | None, wait_s: float | None
) -> None:
    verdict = check_retry(EarlierRecipient("spring", "failed", code, failed_for_s))
    assert verdict == (PASS if wait_s is None else Defer(wait_s, "131049: a retry waits for 24 h"))


@pytest.mark.parametrize(
    ("one", "other", "counts"),
    [
        (PASS, PASS, PASS),
        (PASS, Defer(1, "x"), Defer(1, "x")),
        (Defer(2, "y"), Defer(1, "x"), Defer(2, "y")),
        (Refuse("no"), Defer(9, "x"), Refuse("no")),
        (PASS, Refuse("no"), Refuse("no")),
    ],
)
def test_the_strictest_verdict_of_all_earlier_campaigns_counts(
    one: Verdict, other: Verdict, counts: Verdict
) -> None:
    assert strictest(one, other) == strictest(other, one) == counts
