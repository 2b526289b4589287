"""The steps that the messages of a campaign reached. Pages and the interface show the same steps."""

from collections.abc import Mapping

from drumbeat.engine.core.states import RecipientState

# A message that was read was also delivered, and so on.
_REACHED = (RecipientState.ACCEPTED, RecipientState.SENT, RecipientState.DELIVERED, RecipientState.READ)


def funnel(counts: Mapping[RecipientState, int], accepted: int) -> dict[RecipientState, int]:
    """Return how many messages reached each step or a later one. `accepted` counts messages that the service
    accepted, whatever became of them.

    Fewer messages than people are accepted if replies of the service were lost: a status or a person settles
    such a recipient later. So the first step is never below the others.
    """
    found = {step: sum(counts[state] for state in _REACHED[index:]) for index, step in enumerate(_REACHED)}
    return {**found, RecipientState.ACCEPTED: max(accepted, found[RecipientState.ACCEPTED])}


def accepted_beyond_people(counts: Mapping[RecipientState, int], accepted: int) -> int:
    """Return how many messages were accepted beyond the people who count as accepted now. These messages
    failed later, or were replaced.
    """
    people = sum(counts[state] for state in _REACHED)
    return max(0, accepted - people)
