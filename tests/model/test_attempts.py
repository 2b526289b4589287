"""The model of a recipient, by every order in which facts can come."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drumbeat.engine.core.states import EvidenceRank, RecipientState
from tests.model.attempts import (
    Attempts,
    best,
    claimed,
    closed,
    evidence,
    lost,
    may_claim,
    not_accepted,
    rejected,
    state_of,
    visible_rank,
)


def test_best_of_nothing_is_nothing() -> None:
    assert best([]) is None
    assert best([None, EvidenceRank.SENT, EvidenceRank.ACCEPTED]) is EvidenceRank.SENT


def show(attempts: Attempts, *, owned: bool = True) -> RecipientState:
    return state_of(attempts, owned=owned)


FIRST = claimed(Attempts())
SECOND = claimed(not_accepted(FIRST, 1))


@pytest.mark.parametrize(
    ("attempts", "owned", "state"),
    [
        (Attempts(), True, "pending"),
        (FIRST, True, "pending"),
        (FIRST, False, "unknown"),
        (not_accepted(FIRST, 1), False, "deferred"),
        (closed(Attempts()), True, "skipped"),
        (closed(not_accepted(FIRST, 1)), True, "skipped"),
        (not_accepted(closed(FIRST), 1), True, "skipped"),
        (closed(FIRST), False, "unknown"),
        (evidence(closed(FIRST), 1, EvidenceRank.ACCEPTED), False, "accepted"),
        (evidence(FIRST, 1, EvidenceRank.FAILED), True, "failed"),
        (rejected(FIRST, 1), True, "failed"),
        (rejected(FIRST, 1), False, "failed"),
        (rejected(not_accepted(FIRST, 1), 1), True, "failed"),
        (rejected(SECOND, 1), True, "pending"),
        (evidence(rejected(SECOND, 2), 1, EvidenceRank.SENT), True, "sent"),
        (
            evidence(evidence(rejected(SECOND, 2), 1, EvidenceRank.SENT), 1, EvidenceRank.FAILED),
            True,
            "failed",
        ),
        (evidence(rejected(FIRST, 1), 1, EvidenceRank.SENT), True, "failed"),
        (
            evidence(rejected(evidence(FIRST, 1, EvidenceRank.SENT), 1), 1, EvidenceRank.FAILED),
            True,
            "failed",
        ),
        (evidence(rejected(FIRST, 1), 1, EvidenceRank.READ), True, "read"),
        (evidence(SECOND, 1, EvidenceRank.FAILED), True, "pending"),
        (evidence(SECOND, 1, EvidenceRank.FAILED), False, "unknown"),
        (evidence(SECOND, 1, EvidenceRank.SENT), True, "sent"),
        (evidence(evidence(SECOND, 1, EvidenceRank.DELIVERED), 2, EvidenceRank.FAILED), True, "delivered"),
        (evidence(evidence(FIRST, 1, EvidenceRank.FAILED), 1, EvidenceRank.READ), True, "read"),
    ],
)
def test_the_state_after_facts(attempts: Attempts, owned: bool, state: str) -> None:
    assert show(attempts, owned=owned) == state


def test_late_evidence_cancels_a_deferral() -> None:
    deferred = not_accepted(SECOND, 2)
    assert may_claim(deferred)
    assert not may_claim(evidence(deferred, 1, EvidenceRank.ACCEPTED))
    assert show(evidence(deferred, 1, EvidenceRank.ACCEPTED)) == "accepted"


def test_an_old_attempts_refusal_says_nothing_about_the_current_one() -> None:
    assert not_accepted(SECOND, 1) == SECOND


def test_a_deferral_that_was_cancelled_never_returns() -> None:
    """The service accepted a message. If it fails later, no second message follows."""
    sent = evidence(SECOND, 1, EvidenceRank.SENT)
    for cancelled in (
        evidence(not_accepted(SECOND, 2), 1, EvidenceRank.SENT),  # a deferral waited
        not_accepted(sent, 2),  # a reply said that it would wait
        evidence(SECOND, 1, EvidenceRank.SENT, in_doubt=True),  # in doubt
        lost(sent),  # a reply that will not come
    ):
        assert show(cancelled, owned=False) == "sent"
        failed = evidence(cancelled, 1, EvidenceRank.FAILED, in_doubt=True)
        assert show(failed, owned=False) == "failed"
        assert not may_claim(failed)
        assert show(evidence(failed, 2, EvidenceRank.SENT), owned=False) == "sent", (
            "the later one was accepted too"
        )


def test_a_later_attempt_under_way_outlives_the_failure_of_an_earlier_one() -> None:
    failed = evidence(evidence(SECOND, 1, EvidenceRank.SENT), 1, EvidenceRank.FAILED)
    assert show(failed, owned=True) == "pending"
    assert show(not_accepted(failed, 2)) == "deferred"


def test_a_settled_attempt_is_not_deferred() -> None:
    for settled in (rejected(FIRST, 1), *(evidence(FIRST, 1, rank) for rank in EvidenceRank)):
        assert not_accepted(settled, 1) == settled
        assert not may_claim(settled)


def test_a_rejection_ends_the_deferral_of_its_own_attempt_and_of_no_later_one() -> None:
    assert not may_claim(rejected(not_accepted(FIRST, 1), 1))
    assert may_claim(rejected(not_accepted(SECOND, 2), 1))


def test_a_rejection_after_a_sign_of_acceptance_says_nothing() -> None:
    sent = evidence(FIRST, 1, EvidenceRank.SENT)
    assert rejected(sent, 1) == sent


def test_facts_about_attempts_that_never_were_change_nothing() -> None:
    assert rejected(FIRST, 2) == FIRST
    assert rejected(Attempts(), 0) == Attempts()
    assert evidence(FIRST, 2, EvidenceRank.READ) == FIRST
    assert evidence(Attempts(), 0, EvidenceRank.READ) == Attempts()
    assert not_accepted(Attempts(), 0) == Attempts()


def test_a_second_claim_needs_a_deferral() -> None:
    with pytest.raises(ValueError, match="no further attempt"):
        claimed(FIRST)


facts = st.lists(
    st.one_of(
        st.tuples(st.just("claim"), st.just(0), st.just(EvidenceRank.SENT)),
        st.tuples(st.just("not accepted"), st.integers(0, 4), st.just(EvidenceRank.SENT)),
        st.tuples(st.just("evidence"), st.integers(0, 4), st.sampled_from(EvidenceRank)),
        st.tuples(st.just("rejected"), st.integers(0, 4), st.just(EvidenceRank.SENT)),
        st.tuples(st.just("close"), st.just(0), st.just(EvidenceRank.SENT)),
    ),
    max_size=14,
)


def learn(attempts: Attempts, fact: tuple[str, int, EvidenceRank]) -> Attempts:
    kind, attempt_no, rank = fact
    if kind == "claim":
        return claimed(attempts) if may_claim(attempts) else attempts
    if kind == "not accepted":
        return not_accepted(attempts, attempt_no)
    if kind == "rejected":
        return rejected(attempts, attempt_no)
    return evidence(attempts, attempt_no, rank) if kind == "evidence" else closed(attempts)


@settings(max_examples=500)
@given(facts)
def test_no_history_sends_again_after_acceptance_or_lowers_a_rank_without_a_failure(
    history: list[tuple[str, int, EvidenceRank]],
) -> None:
    attempts = Attempts()
    for fact in history:
        before, attempts = attempts, learn(attempts, fact)
        rank_before, rank = visible_rank(before), visible_rank(attempts)
        if rank_before is not None:
            earlier_failed = (
                fact[0] == "evidence" and fact[2] is EvidenceRank.FAILED and fact[1] < before.current
            )
            assert earlier_failed or (rank is not None and rank >= rank_before)
            assert attempts.current == before.current
        if before.closed:
            assert attempts.current == before.current


@given(facts)
def test_a_repeated_fact_changes_nothing(history: list[tuple[str, int, EvidenceRank]]) -> None:
    once = twice = Attempts()
    for fact in history:
        once = learn(once, fact)
        twice = learn(learn(twice, fact), fact) if fact[0] != "claim" else learn(twice, fact)
    assert once == twice


def in_every_order(events: list[tuple[int, EvidenceRank]]) -> Iterator[Attempts]:
    for order in permutations(events):
        attempts = SECOND
        for attempt_no, rank in order:
            attempts = evidence(attempts, attempt_no, rank)
        yield attempts


@given(st.lists(st.tuples(st.integers(1, 2), st.sampled_from(EvidenceRank)), max_size=5))
def test_the_order_of_events_does_not_matter(events: list[tuple[int, EvidenceRank]]) -> None:
    assert len(set(in_every_order(events))) == 1


@given(facts)
def test_a_recipient_who_was_reached_while_no_reply_was_awaited_gets_nothing_more(
    history: list[tuple[str, int, EvidenceRank]],
) -> None:
    attempts, over = Attempts(), False
    for fact in history:
        attempts = learn(attempts, fact)
        over |= attempts.refused and visible_rank(attempts) is not None
        assert not (over and may_claim(attempts)), "twice"
