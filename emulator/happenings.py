"""What faults let happen after an accepted message, carried out by the parts of the service."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from drumbeat.emulator.account import Account
from drumbeat.emulator.events.envelope import ACCOUNT_REVIEW, ACCOUNT_UPDATE, Update
from drumbeat.emulator.events.subscriptions import Subscriptions
from drumbeat.emulator.faults.happenings import Accepted
from drumbeat.emulator.incoming import IncomingMessages
from drumbeat.emulator.naming import Naming, named
from drumbeat.emulator.people import People
from drumbeat.emulator.reviewer import Reviewer
from drumbeat.emulator.standing import Standing
from drumbeat.emulator.templates.template import Template


@dataclass(frozen=True, slots=True)
class Happenings:
    """The service as a fault sees it; see `faults.happenings.World`."""

    accounts: Mapping[str, Account]
    people: People
    incoming: IncomingMessages
    reviewer: Reviewer
    standing: Standing
    subscriptions: Subscriptions
    announce: Callable[[Update], None]

    def write(self, accepted: Accepted, sender: str, message: dict[str, Any]) -> None:
        """Let the recipient write in."""
        naming = self._naming(accepted, sender)
        self.incoming.receive(accepted.number, accepted.recipient, message, "Customer", naming)

    def prefer(self, accepted: Accepted, sender: str, value: str) -> None:
        """Let the recipient stop or resume marketing."""
        self.incoming.prefer(accepted.number, self._naming(accepted, sender), value)

    def change_number(self, accepted: Accepted, new: str) -> None:
        """Give the recipient a new number."""
        self.incoming.change_number(accepted.number, accepted.recipient, new)

    def tell_account(self, accepted: Accepted, account: str | None, event: str) -> None:
        """Announce an event of an account."""
        account_id = account or accepted.number.account_id
        self.announce(Update(account_id, None, ACCOUNT_UPDATE, {"event": event}))

    def review_account(self, accepted: Accepted, account: str | None, decision: str) -> None:
        """Announce the review of an account."""
        account_id = account or accepted.number.account_id
        self.announce(Update(account_id, None, ACCOUNT_REVIEW, {"decision": decision}))

    def change_template(self, accepted: Accepted, account: str | None, event: str) -> None:
        """Change the template of the message, or announce the event in another account."""
        own = accepted.number.account_id
        for template in self._template(accepted):
            if account in (None, own):
                self.reviewer.change(own, template, event, "NONE")
            else:
                self.reviewer.announce_elsewhere(str(account), template, event)

    def rate_template(self, accepted: Accepted, score: str) -> None:
        """Give the template another quality."""
        for template in self._template(accepted):
            self.reviewer.rate(accepted.number.account_id, template, score)

    def recategorise(self, accepted: Accepted, category: str, *, upcoming: bool) -> None:
        """Move the template to another category."""
        for template in self._template(accepted):
            self.reviewer.recategorise(accepted.number.account_id, template, category, upcoming=upcoming)

    def set_tier(self, accepted: Accepted, word: str, event: str) -> None:
        """Give the number another messaging limit."""
        self.standing.set_word(accepted.number, word, event)

    def unsubscribe(self, accepted: Accepted) -> None:
        """Stop the events of the account to the first app."""
        self.subscriptions.let_hear(self.accounts[accepted.number.account_id], hears=False)

    def _naming(self, accepted: Accepted, how: str) -> Naming:
        recipient = accepted.recipient
        return named(how, self.people.wa_id(recipient), self.people.user_id(recipient))

    def _template(self, accepted: Accepted) -> list[Template]:
        """Return the template of the message, in a list that is empty for a free-form one."""
        book = self.accounts[accepted.number.account_id].book
        template = book.get(*accepted.template) if accepted.template else None
        return [] if template is None else [template]
