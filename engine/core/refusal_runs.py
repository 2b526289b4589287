"""The refusals in a row that may not be the recipients' fault, and the smallest scope that explains them.

Law: a scope is at fault only if it was refused IN_A_ROW_MAX times with nothing accepted between. Of the
scopes that explain a run, the one that the table of codes names is stopped, else the smallest: a campaign
that other numbers send well is not at fault, and a number that sends other campaigns well is not either.
"""

from collections.abc import Callable, Set
from typing import NamedTuple

from drumbeat.engine.core.outcome import Scope

# One refused recipient is a recipient's problem; this many in a row are not.
IN_A_ROW_MAX = 20


class Sender(NamedTuple):
    """The sender whose refusals are counted: a campaign through a number. None stands for any."""

    campaign_id: int | None
    phone_number_id: str | None


class RefusalRuns:
    """The runs of one process. `lengths` counts refusals since the last acceptance; empty
    without refusals.
    """

    def __init__(self) -> None:
        self.lengths: dict[Sender, int] = {}

    def accepted(self, campaign_id: int, phone_number_id: str) -> None:
        for sender in _senders(campaign_id, phone_number_id):
            self.lengths.pop(sender, None)

    def refused(self, campaign_id: int, phone_number_id: str, shared_by: Scope) -> Scope | None:
        """Count a refusal. Return what is at fault, if it is known now: TEMPLATE (the campaign), NUMBER or
        ACCOUNT.

        If a campaign succeeds through other numbers and the number with other campaigns, only the pair is at
        fault. Then too the campaign is stopped, or the number if the table names it. `shared_by` is the scope
        that usually causes this refusal, from the table of codes.
        """
        pair, campaign, number, account = _senders(campaign_id, phone_number_id)
        for sender in (pair, campaign, number, account):
            self.lengths[sender] = self.lengths.get(sender, 0) + 1
        usual = {Scope.NUMBER: number, Scope.ACCOUNT: account}.get(shared_by, campaign)
        if self._is_long(usual):
            return shared_by
        if not self._is_long(pair):
            return None
        if self._is_long(campaign):
            return Scope.TEMPLATE
        if self._is_long(number):
            return Scope.NUMBER
        return Scope.NUMBER if shared_by is Scope.NUMBER else Scope.TEMPLATE

    def forget_campaign(self, campaign_id: int) -> None:
        """Begin the campaign's runs anew, and those that its refusals were part of: a person resumed it."""
        numbers = {sender.phone_number_id for sender in self.lengths if sender.campaign_id == campaign_id}
        self._drop(lambda sender: sender.campaign_id == campaign_id)
        if numbers:
            self._drop(lambda sender: sender.campaign_id is None and sender.phone_number_id in numbers)

    def forget_number(self, phone_number_id: str) -> None:
        """Begin the number's runs anew: a person resumed it."""
        self._drop(lambda sender: sender.phone_number_id == phone_number_id)
        self.lengths.pop(Sender(None, None), None)

    def keep(self, running: Set[int]) -> None:
        """Remove campaigns that no longer run."""
        self._drop(lambda sender: sender.campaign_id is not None and sender.campaign_id not in running)

    def _is_long(self, sender: Sender) -> bool:
        return self.lengths.get(sender, 0) >= IN_A_ROW_MAX

    def _drop(self, matches: Callable[[Sender], bool]) -> None:
        for sender in [sender for sender in self.lengths if matches(sender)]:
            del self.lengths[sender]


def _senders(campaign_id: int, phone_number_id: str) -> tuple[Sender, Sender, Sender, Sender]:
    """Return the pair, the campaign, the number, and all together."""
    return (
        Sender(campaign_id, phone_number_id),
        Sender(campaign_id, None),
        Sender(None, phone_number_id),
        Sender(None, None),
    )
