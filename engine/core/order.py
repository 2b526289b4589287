"""The order of campaigns at a number: strict priority, and fair shares within a priority.

Law: a campaign gets nothing while one of a higher priority has recipients for the number. Among campaigns of
one priority, each gets recipients in proportion to its weight, as long as all of them have some. A campaign
that had none for a while continues beside the others and catches up on nothing. No rate is reserved: what a
campaign cannot use, the others get.
"""

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Protocol


class Priority(IntEnum):
    """The priorities. The higher value goes first. Names are stored, in lower case. URGENT is for messages to
    one person.
    """

    LOW = 1
    NORMAL = 2
    HIGH = 3
    URGENT = 4

    @property
    def word(self) -> str:
        return self.name.lower()


CHOICES = tuple(priority.word for priority in Priority if priority is not Priority.URGENT)


class Claimant(Protocol):
    """A campaign that may have recipients for a number. `share_percent` is described at `weights`."""

    @property
    def campaign_id(self) -> int: ...
    @property
    def priority(self) -> Priority: ...
    @property
    def share_percent(self) -> int | None: ...


def weights(claimants: Sequence[Claimant]) -> dict[int, float]:
    """Return the weight of each of these campaigns of one priority, by campaign.

    A share is a weight in percent. The campaigns without one divide the rest evenly, and get at least 1 each:
    shares that add up to more than 100 leave no campaign without recipients.
    """
    given = sum(claimant.share_percent or 0 for claimant in claimants)
    without = sum(claimant.share_percent is None for claimant in claimants)
    rest = max(1.0, (100 - given) / without) if without else 0.0
    return {claimant.campaign_id: float(claimant.share_percent or rest) for claimant in claimants}


# The limit of campaigns that are remembered for one number although they have nothing for it now. A campaign
# that is forgotten and returns may get one range too early.
REMEMBERED_MAX = 64


class FairOrder:
    """The order of one number, by start-time fair queueing.

    Each campaign has a virtual time: the recipients that it got, divided by its weight. The campaign with the
    least goes first. Two campaigns that always have recipients differ by at most one range of each.
    """

    def __init__(self) -> None:
        # By priority and campaign: a campaign that gets another priority begins anew there.
        self._virtual: dict[tuple[Priority, int], float] = {}
        self._clocks: dict[Priority, float] = {}  # the virtual time of the campaign that was served last

    def in_order(self, claimants: Iterable[Claimant]) -> list[int]:
        """Return these campaigns, the next one first."""
        return [claimant.campaign_id for claimant in sorted(claimants, key=self._key)]

    def serve(self, campaign_id: int, recipients: int, claimants: Sequence[Claimant]) -> None:
        """Count the recipients that a campaign got. `claimants`: it, and all others that may get some."""
        [served] = [claimant for claimant in claimants if claimant.campaign_id == campaign_id]
        peers = [claimant for claimant in claimants if claimant.priority is served.priority]
        began = self._clocks[served.priority] = self._virtual_time(served)
        self._virtual[served.priority, campaign_id] = began + recipients / weights(peers)[campaign_id]
        if len(self._virtual) > REMEMBERED_MAX:
            asking = {(claimant.priority, claimant.campaign_id) for claimant in claimants}
            self._virtual = {key: time for key, time in self._virtual.items() if key in asking}

    def _key(self, claimant: Claimant) -> tuple[int, float, int]:
        return -claimant.priority, self._virtual_time(claimant), claimant.campaign_id

    def _virtual_time(self, claimant: Claimant) -> float:
        """Return the virtual time, never behind the clock: a campaign that was idle does not catch up."""
        own = self._virtual.get((claimant.priority, claimant.campaign_id), 0.0)
        return max(own, self._clocks.get(claimant.priority, 0.0))
