"""The protocol keeps its promises over every interleaving, and each of its protections is needed."""

from dataclasses import fields

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.model.explore import broken, explore, sent_twice
from tests.model.protocol import steps
from tests.model.world import MUTANTS, RULES, Limits, Rules, World, start

# At most two living processes at any time. The rows differ in the number of owners before them, the attempts
# for a recipient, and what else may happen. Each has thousands of states.
SMALL = (
    Limits(recipients=1, epochs=3, attempts=2),
    Limits(recipients=2, epochs=2, attempts=1),
    Limits(recipients=2, epochs=3, attempts=1, lost_answers=False),
    Limits(recipients=1, epochs=2, attempts=2, cancel=True),
    Limits(recipients=1, epochs=2, attempts=2, resend=True),
    Limits(recipients=1, epochs=2, attempts=2, resend=True, failures=True),
)
# The smallest exploration in which each protection is missed.
MISSED_IN = {
    "watermark_before_write": Limits(recipients=1, epochs=2, attempts=1),
    "epoch_compared": Limits(recipients=1, epochs=2, attempts=2),
    "retries_claimed": Limits(recipients=1, epochs=2, attempts=2),
    "permit_checked": Limits(recipients=2, epochs=2, attempts=1),
    "wait_from_fence": Limits(recipients=2, epochs=2, attempts=1),
    "wait_outlives_owner": Limits(recipients=2, epochs=3, attempts=1, lost_answers=False),
    "wait_kept_until_fenced": Limits(recipients=2, epochs=3, attempts=1, lost_answers=False),
    "lease_respected": Limits(recipients=2, epochs=2, attempts=1),
    "counted_by_difference": Limits(recipients=1, epochs=2, attempts=1),
    "stops_when_not_stored": Limits(recipients=2, epochs=2, attempts=1),
    "release_proven": Limits(recipients=1, epochs=2, attempts=1),
    "late_deferral_reopens": Limits(recipients=1, epochs=2, attempts=1),
    "later_attempts_seen": Limits(recipients=1, epochs=2, attempts=2, resend=True, failures=True),
    "cancelled_for_good": Limits(recipients=1, epochs=2, attempts=2, resend=True, failures=True),
}


def name_of(mutant: Rules) -> str:
    return next(rule.name for rule in fields(mutant) if not getattr(mutant, rule.name))


@pytest.mark.parametrize("limits", SMALL, ids=str)
def test_no_interleaving_breaks_a_promise(limits: Limits) -> None:
    states, promise, way = explore(RULES, limits)
    assert promise is None, way
    assert states > 1_000  # an exploration that ends at once shows nothing


@pytest.mark.parametrize("mutant", MUTANTS, ids=name_of)
def test_without_any_one_protection_a_promise_breaks(mutant: Rules) -> None:
    _, promise, way = explore(mutant, MISSED_IN[name_of(mutant)])
    assert promise is not None
    assert way


@pytest.mark.parametrize("name", ["watermark_before_write", "retries_claimed"])
def test_what_is_not_claimed_first_is_sent_twice(name: str) -> None:
    mutant = next(mutant for mutant in MUTANTS if name_of(mutant) == name)
    _, promise, _ = explore(mutant, MISSED_IN[name], check=sent_twice)
    assert promise is not None


class Larger(RuleBasedStateMachine):
    """Walks through an installation too large to be explored whole, with cancel and resend."""

    limits = Limits(recipients=5, epochs=8, attempts=4, cancel=True, resend=True)

    @initialize()
    def plan(self) -> None:
        self.world: World = start(self.limits)

    @rule(choices=st.lists(st.integers(0, 1_000), min_size=1, max_size=20))
    def take_steps(self, choices: list[int]) -> None:
        """Take some steps, each chosen among all that are possible. Steps that end a campaign are chosen rarely."""
        for choice in choices:
            possible = sorted(steps(self.world, RULES, self.limits), key=repr)
            likely = [step for step in possible if step[0] not in ("crash", "cancel", "release")] or possible
            among = possible if choice % 10 == 0 else likely
            if among:
                self.world = among[choice % len(among)][1]
                assert broken(self.world) is None

    @invariant()
    def promises_hold(self) -> None:
        assert broken(self.world) is None


TestLarger = Larger.TestCase
TestLarger.settings = settings(max_examples=60, stateful_step_count=15, deadline=None)
