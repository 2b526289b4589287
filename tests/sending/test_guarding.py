"""Which candidates pass, are deferred or are skipped before anything is claimed."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from drumbeat.engine.clock import SECOND_NS, monotonic_ns
from drumbeat.engine.core.limits.guard import PairGuard
from drumbeat.engine.core.retry import Budget
from drumbeat.engine.sending.campaign_cache import CampaignCache
from drumbeat.engine.sending.guarding import Guarded, guard_first_attempts, guard_retries, refuse_opted_out
from drumbeat.engine.sending.messages import RunningCampaign
from drumbeat.engine.store.claims import Candidate
from drumbeat.engine.store.facts import FactKind
from drumbeat.engine.store.leases import Lease

LEASE = Lease("1055", epoch=7, wait_s=0.0)
SPENT = Budget(transient_failures=2)
UNFIT = "variables do not fit the template"


def campaign(expires_in_s: float | None = None) -> RunningCampaign:
    expires_ns = None if expires_in_s is None else monotonic_ns() + int(expires_in_s * SECOND_NS)
    return cast("RunningCampaign", SimpleNamespace(variable_count=2, expires_ns=expires_ns))


def candidate(phone: int, **others: Any) -> Candidate:
    guarded_batch: dict[str, Any] = {"variables": ["Ana", "LH-1"], "attempt_no": 3, "spent": SPENT, **others}
    return Candidate(1, 9, phone, phone, **guarded_batch)


def guarded(candidates: list[Candidate], running: RunningCampaign, retries: bool) -> Guarded:
    pairs = PairGuard(burst=1)
    if retries:
        return guard_retries(candidates, cast("CampaignCache", {1: running}), pairs, LEASE, monotonic_ns())
    return guard_first_attempts(candidates, running, pairs, LEASE, monotonic_ns())


@pytest.mark.parametrize("retries", [False, True], ids=["first attempts", "retries"])
@pytest.mark.parametrize(
    ("others", "expires_in_s", "reason"),
    [
        ({}, None, None),
        ({}, 3_600, None),
        ({}, -1, "expired"),
        ({"opted_out": True}, None, "opted out"),
        ({"opted_out": True}, 3_600, "opted out"),
        ({"variables": ["Ana"]}, None, UNFIT),
        ({"variables": ["Ana", None]}, None, UNFIT),
        ({"variables": ["Ana", "LH-1", "x"]}, 3_600, UNFIT),
    ],
)
def test_who_is_skipped_and_why(
    others: dict[str, Any], expires_in_s: float | None, reason: str | None, retries: bool
) -> None:
    checked = candidate(5511, **others)
    guarded_batch = guarded([checked], campaign(expires_in_s), retries)
    assert guarded_batch.passed == ([checked] if reason is None else [])
    assert not guarded_batch.postponed
    assert [(fact.kind, fact.reason) for fact in guarded_batch.decided] == (
        [] if reason is None else [(FactKind.SKIPPED, reason)]
    )


def test_a_first_attempt_that_comes_too_soon_is_stored_with_its_wait() -> None:
    guarded_batch = guarded([candidate(5511), candidate(5512), candidate(5511)], campaign(), retries=False)
    assert [checked.phone for checked in guarded_batch.passed] == [5511, 5512]
    [fact] = guarded_batch.decided
    assert (fact.kind, fact.reason, fact.wait_s) == (FactKind.DEFERRED, "pair rate", 6.0)
    assert (fact.range_id, fact.seq, fact.attempt_no, fact.epoch, fact.phone_number_id, fact.spent) == (
        9, 5511, 3, 7, "1055", SPENT,
    )  # fmt: skip


def test_a_retry_that_comes_too_soon_only_moves() -> None:
    again = candidate(5511)
    guarded_batch = guarded([candidate(5511), again], campaign(), retries=True)
    assert guarded_batch.postponed == [(again, 6.0, "pair rate")] and not guarded_batch.decided


def test_recipients_who_opted_out_meanwhile_are_skipped_and_the_others_keep_their_order() -> None:
    passed = [candidate(phone) for phone in (5511, 5512, 5513)]
    guarded_batch = Guarded(passed=passed)
    refuse_opted_out(guarded_batch, {5512}, campaign(), LEASE)
    assert [checked.phone for checked in guarded_batch.passed] == [5511, 5513]
    assert [(fact.seq, fact.reason) for fact in guarded_batch.decided] == [(5512, "opted out")]


def test_a_campaign_that_expires_meanwhile_skips_everybody_left() -> None:
    guarded_batch = Guarded(passed=[candidate(5511)])
    refuse_opted_out(guarded_batch, set(), campaign(-1), LEASE)
    assert not guarded_batch.passed
    assert [fact.reason for fact in guarded_batch.decided] == ["expired"]
