"""Visits every state that the model can reach, and says which promise a state breaks, and by which steps."""

from collections import deque
from collections.abc import Callable

from drumbeat.engine.core.states import EvidenceRank, RecipientState
from tests.model.attempts import evidence, may_claim
from tests.model.protocol import steps
from tests.model.world import IN_DOUBT_MAX, REACHED, Limits, Recipient, Rules, World, start

Check = Callable[[World], str | None]


def broken(world: World) -> str | None:
    """The promise that a state breaks, or None."""
    return (
        sent_twice(world)
        or _waits_again(world)
        or ("a former owner wrote after its successor" if world.epoch_fell else None)
        or _uncounted(world)
        or _unheard(world)
        or _too_many_in_doubt(world)
        or _forgotten(world)
    )


def sent_twice(world: World) -> str | None:
    """At most one accepted message a recipient, unless a resend was declared."""
    for seq, recipient in enumerate(world.recipients):
        accepted = sum(accepted_seq == seq for accepted_seq, _ in world.ledger)
        if accepted > 1 and not recipient.resent:
            return f"recipient {seq} was sent to twice"
    return None


def _waits_again(world: World) -> str | None:
    """No second message follows one that was accepted while no other attempt was under way, whatever becomes of it."""
    again = any(recipient.reached and may_claim(recipient.attempts) for recipient in world.recipients)
    return "a deferral that evidence cancelled came back" if again else None


def _uncounted(world: World) -> str | None:
    counted = sum(recipient.state in REACHED for recipient in world.recipients)
    return None if counted == world.counted_accepted else "the counts differ from a recount"


def _unheard(world: World) -> str | None:
    """Once its events came, every accepted attempt is known."""
    for seq, attempt_no in world.ledger:
        attempts = evidence(world.recipients[seq].attempts, attempt_no, EvidenceRank.SENT)
        known = attempts.current >= attempt_no and attempts.ranks[attempt_no - 1] is not None
        if not known and not _sent_before_its_claim(world, seq):
            return f"an accepted attempt of recipient {seq} cannot be known"
    return None


def _sent_before_its_claim(world: World, seq: int) -> bool:
    """Only a mutant sends before its claim. While its owner lives, the claim may still come."""
    return any(fact.seq == seq for owner in world.owners for fact in (*owner.facts, *owner.replies))


def _too_many_in_doubt(world: World) -> str | None:
    return "more in doubt after a takeover than the bound" if world.in_doubt_at_once > IN_DOUBT_MAX else None


def _forgotten(world: World) -> str | None:
    """A successor finds everybody who waits: in an open range, or in one that its number holds."""
    waiting = [
        recipient
        for recipient in world.recipients
        if recipient.state in (RecipientState.PENDING, RecipientState.DEFERRED)
    ]
    if not waiting:
        return None
    if world.range_done:
        return "somebody waits in a range that is done"
    if not world.range_held and any(_claimed_without_outcome(recipient) for recipient in world.recipients):
        return "a free range holds a claim that nobody accounts for"
    return None


def _claimed_without_outcome(recipient: Recipient) -> bool:
    return recipient.attempts.current > 0 and recipient.state is RecipientState.PENDING


def explore(
    rules: Rules, limits: Limits, *, check: Check = broken, states_max: int = 500_000
) -> tuple[int, str | None, list[str]]:
    """Search breadth first. Returns the number of states, the first broken promise, and the shortest way to it.

    Raises RuntimeError above `states_max`, so that no exploration ends early unnoticed.
    """
    first = start(limits)
    came_from: dict[World, tuple[World, str] | None] = {first: None}
    waiting = deque([first])
    while waiting:
        world = waiting.popleft()
        if (promise := check(world)) is not None:
            return len(came_from), promise, _way(came_from, world)
        for name, following in steps(world, rules, limits):
            if following not in came_from:
                came_from[following] = (world, name)
                waiting.append(following)
        if len(came_from) > states_max:
            raise RuntimeError(f"more than {states_max} states")
    return len(came_from), None, []


def _way(came_from: dict[World, tuple[World, str] | None], world: World) -> list[str]:
    way: list[str] = []
    at: World = world
    while (step := came_from[at]) is not None:
        at, name = step
        way.append(name)
    return way[::-1]
