"""Refusals in a row: the smallest scope that explains them is at fault, and never one that is accepted."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumbeat.engine.core.outcome import Scope
from drumbeat.engine.core.refusal_runs import IN_A_ROW_MAX, RefusalRuns

ONE, TWO = 1, 2  # campaigns
A, B = "A", "B"  # numbers
MOST = IN_A_ROW_MAX - 1
SCOPES = (Scope.TEMPLATE, Scope.NUMBER, Scope.ACCOUNT)


def refuse(runs: RefusalRuns, campaign_id: int, number: str, times: int, scope: Scope) -> list[Scope | None]:
    return [runs.refused(campaign_id, number, scope) for _ in range(times)]


@pytest.mark.parametrize("scope", SCOPES)
def test_the_usual_scope_is_at_fault_if_nothing_shows_otherwise(scope: Scope) -> None:
    runs = RefusalRuns()
    assert refuse(runs, ONE, A, MOST, scope) == [None] * MOST
    assert runs.refused(ONE, A, scope) is scope


def test_one_acceptance_ends_a_run() -> None:
    runs = RefusalRuns()
    refuse(runs, ONE, A, MOST, Scope.TEMPLATE)
    runs.accepted(ONE, A)
    assert runs.lengths == {}
    assert refuse(runs, ONE, A, MOST, Scope.TEMPLATE) == [None] * MOST


def mixed(runs: RefusalRuns, accepted: Sequence[tuple[int, str]], scope: Scope) -> Scope | None:
    """Campaign ONE is refused through A, again and again, while these are accepted."""
    for _ in range(MOST):
        assert runs.refused(ONE, A, scope) is None
        for campaign_id, number in accepted:
            runs.accepted(campaign_id, number)
    return runs.refused(ONE, A, scope)


@pytest.mark.parametrize(
    ("accepted", "usual", "at_fault"),
    [
        ([(ONE, B)], Scope.TEMPLATE, Scope.NUMBER),  # the campaign is sent well through another number
        ([(ONE, B)], Scope.ACCOUNT, Scope.NUMBER),
        ([(TWO, A)], Scope.NUMBER, Scope.TEMPLATE),  # the number sends another campaign well
        ([(TWO, A)], Scope.ACCOUNT, Scope.TEMPLATE),
        ([(TWO, B)], Scope.ACCOUNT, Scope.TEMPLATE),  # the account sends: the campaign is the least to stop
        ([(TWO, B)], Scope.NUMBER, Scope.NUMBER),
        ([(ONE, B), (TWO, A)], Scope.TEMPLATE, Scope.TEMPLATE),  # only the pair fails: the usual scope
        ([(ONE, B), (TWO, A)], Scope.NUMBER, Scope.NUMBER),
        ([(ONE, B), (TWO, A)], Scope.ACCOUNT, Scope.TEMPLATE),
    ],
)
def test_acceptances_show_what_is_not_at_fault(
    accepted: list[tuple[int, str]], usual: Scope, at_fault: Scope
) -> None:
    assert mixed(RefusalRuns(), accepted, usual) is at_fault


def test_refusals_of_a_campaign_add_up_over_its_numbers() -> None:
    runs = RefusalRuns()
    found = [runs.refused(ONE, number, Scope.TEMPLATE) for number in (A, B) * (IN_A_ROW_MAX // 2)]
    assert found == [None] * MOST + [Scope.TEMPLATE]


def test_what_a_person_resumes_begins_anew() -> None:
    runs = RefusalRuns()
    refuse(runs, ONE, A, IN_A_ROW_MAX, Scope.TEMPLATE)
    runs.forget_campaign(ONE)
    assert runs.lengths == {}
    refuse(runs, ONE, A, IN_A_ROW_MAX, Scope.NUMBER)
    runs.forget_number(A)
    assert runs.refused(TWO, A, Scope.NUMBER) is None


def test_a_campaign_that_starts_does_not_hide_the_refusals_of_others() -> None:
    runs = RefusalRuns()
    refuse(runs, ONE, A, MOST, Scope.NUMBER)
    runs.forget_campaign(TWO)
    assert runs.refused(ONE, A, Scope.NUMBER) is Scope.NUMBER


def test_campaigns_that_ended_are_forgotten() -> None:
    runs = RefusalRuns()
    refuse(runs, ONE, A, 1, Scope.TEMPLATE)
    runs.keep({TWO})
    assert all(sender.campaign_id is None for sender in runs.lengths)


events = st.tuples(
    st.sampled_from([ONE, TWO]), st.sampled_from([A, B]), st.sampled_from(SCOPES), st.integers(0, 9)
)


@given(st.lists(events, max_size=300))
def test_whatever_happens_only_what_was_refused_in_a_row_is_at_fault(
    happened: list[tuple[int, str, Scope, int]],
) -> None:
    """An event is a refusal nine times of ten. A scope at fault had no acceptance within its last twenty."""
    runs, past = RefusalRuns(), list[tuple[int, str, bool]]()
    for campaign_id, number, scope, chance in happened:
        past.append((campaign_id, number, chance == 0))
        if chance == 0:
            runs.accepted(campaign_id, number)
            continue
        at_fault = runs.refused(campaign_id, number, scope)
        of_pair = [was for one, other, was in past if (one, other) == (campaign_id, number)]
        of_scope = {
            Scope.TEMPLATE: [was for one, _, was in past if one == campaign_id],
            Scope.NUMBER: [was for _, other, was in past if other == number],
            Scope.ACCOUNT: [was for *_, was in past],
        }
        if at_fault is not None:
            assert in_a_row(of_scope[at_fault]) or in_a_row(of_pair)
        if at_fault is Scope.ACCOUNT:
            assert in_a_row(of_scope[at_fault])
        if in_a_row(of_pair) or in_a_row(of_scope[scope]):
            assert at_fault is not None


def in_a_row(accepted: list[bool]) -> bool:
    """Whether the last twenty, at least, were refused."""
    return len(accepted) >= IN_A_ROW_MAX and not any(accepted[-IN_A_ROW_MAX:])
