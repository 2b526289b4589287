"""The share of recipients who are not on the network: from it follows whether a list is too old to send to.

Law: one such recipient is the recipient's matter, and stops nothing. A list of customers who wrote lately has
some per cent of them; one that was bought, or not used for years, has a third or more. The service rates the
numbers by such messages, so each of them costs the pace of every campaign.
"""

from typing import NamedTuple

UNDELIVERABLE = 131026  # the code of a phone that is not on the network, or has blocked the business
UNDELIVERABLE_MIN = 100  # fewer say nothing about a list
SHARE_MAX = 0.3  # of those sent to


class ListHealth(NamedTuple):
    """The recipients of a campaign that were sent to, and those of them who failed.

    `undeliverable` of `sampled` failures have the code; a count of all would read every failure.
    """

    sent_to: int
    failed: int
    sampled: int
    undeliverable: int

    @property
    def unreachable(self) -> int:
        """Return how many recipients are not on the network, extrapolated from the sample."""
        return self.failed * self.undeliverable // self.sampled if self.sampled else 0

    @property
    def looks_old(self) -> bool:
        return self.unreachable >= UNDELIVERABLE_MIN and self.unreachable > SHARE_MAX * self.sent_to

    def in_words(self) -> str:
        share = 100 * self.unreachable / max(1, self.sent_to)
        return (
            f"about {self.unreachable:,} of {self.sent_to:,} people sent to ({share:.0f} %) are not on the"
            f" network ({UNDELIVERABLE}): the list looks old"
        )
