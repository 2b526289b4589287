"""Visits every state that the model can reach, and says which promise a state breaks, and by which steps."""

from collections import deque
from collections.abc import Callable

from engine.core.states import EvidenceRank, RecipientState
from tests.model.protocol import steps
from tests.model.tries import evidence, may_claim
from tests.model.world import DOUBT_MAX, REACHED, Limits, Recipient, Rules, World, start

Look = Callable[[World], str | None]


def broken(world: World) -> str | None:
    """The promise that a state breaks, or None."""
    return (
        sent_twice(world)
        or _waits_again(world)
        or ("a former owner wrote after its successor" if world.epoch_fell else None)
        or _uncounted(world)
        or _unheard(world)
        or _doubtful(world)
        or _forgotten(world)
    )


def sent_twice(world: World) -> str | None:
    """At most one accepted message a recipient, unless a resend was declared."""
    for seq, one in enumerate(world.recipients):
        accepted = sum(place == seq for place, _ in world.ledger)
        if accepted > 1 and not one.resent:
            return f"recipient {seq} was sent to twice"
    return None


def _waits_again(world: World) -> str | None:
    """A message was accepted while nothing else was under way: no second one follows, whatever becomes of it."""
    again = any(one.reached and may_claim(one.tries) for one in world.recipients)
    return "a deferral that evidence cancelled came back" if again else None


def _uncounted(world: World) -> str | None:
    counted = sum(one.state in REACHED for one in world.recipients)
    return None if counted == world.counted_accepted else "the counts differ from a recount"


def _unheard(world: World) -> str | None:
    """Once events came, every accepted try is known."""
    for seq, attempt_no in world.ledger:
        tries = evidence(world.recipients[seq].tries, attempt_no, EvidenceRank.SENT)
        known = tries.current >= attempt_no and tries.ranks[attempt_no - 1] is not None
        if not known and not _sent_before_its_claim(world, seq):
            return f"an accepted try of recipient {seq} cannot be known"
    return None


def _sent_before_its_claim(world: World, seq: int) -> bool:
    """Only a mutant sends so; while its owner lives, the claim may yet come."""
    return any(fact.seq == seq for owner in world.owners for fact in (*owner.facts, *owner.replies))


def _doubtful(world: World) -> str | None:
    return "more in doubt after a takeover than the bound" if world.doubted_at_once > DOUBT_MAX else None


def _forgotten(world: World) -> str | None:
    """Whoever takes over from here finds everybody who waits: an open range, or one that its number holds."""
    waiting = [
        one for one in world.recipients if one.state in (RecipientState.PENDING, RecipientState.DEFERRED)
    ]
    if not waiting:
        return None
    if world.range_done:
        return "somebody waits in a range that is done"
    if not world.range_held and any(_claimed_and_silent(one) for one in world.recipients):
        return "a free range holds a claim that nobody accounts for"
    return None


def _claimed_and_silent(one: Recipient) -> bool:
    return one.tries.current > 0 and one.state is RecipientState.PENDING


def explore(
    rules: Rules, limits: Limits, *, look: Look = broken, states_max: int = 500_000
) -> tuple[int, str | None, list[str]]:
    """Breadth first: how many states, the first promise broken, and the shortest way there.

    Raises RuntimeError where `states_max` is not enough: a bound must be chosen, not met by chance.
    """
    first = start(limits)
    came_from: dict[World, tuple[World, str] | None] = {first: None}
    waiting = deque([first])
    while waiting:
        world = waiting.popleft()
        if (promise := look(world)) is not None:
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
