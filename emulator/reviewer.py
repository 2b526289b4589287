"""The review of templates: a template waits, is approved or rejected, and that is announced."""

import heapq
from collections.abc import Callable, Mapping

from drumbeat.emulator.account import Account
from drumbeat.emulator.clock import SECOND_NS, Clock
from drumbeat.emulator.errors import Refused
from drumbeat.emulator.events.envelope import TEMPLATE_CATEGORY, TEMPLATE_QUALITY, TEMPLATE_STATUS, Update
from drumbeat.emulator.templates.examples import lacking_example
from drumbeat.emulator.templates.template import STATUS_AFTER_EVENT, Template

# Words that make the reviewer take a template of UTILITY for MARKETING (open point: the category may change).
MARKETING_WORDS = ("offer", "sale", "discount", "% off", "buy now", "coupon")


class Reviewer:
    """The reviewer: it has the templates that wait, by the time of their review. `announce` queues
    an event.
    """

    def __init__(
        self,
        clock: Clock,
        delay_s: float,
        accounts: Mapping[str, Account],
        announce: Callable[[Update], None],
    ) -> None:
        self._clock = clock
        self._delay_s = delay_s
        self._accounts = accounts
        self._announce = announce
        # (due_ns, account id, name, language)
        self.waiting: list[tuple[int, str, str, str]] = []

    def submit(self, account: Account, template: Template) -> None:
        """Have a new template reviewed after the configured delay."""
        due_ns = self._clock.now_ns() + round(self._delay_s * SECOND_NS)
        heapq.heappush(self.waiting, (due_ns, account.id, template.name, template.language))

    def review_due(self, now_ns: int) -> None:
        """Decide about every template whose time has come and that is still pending."""
        while self.waiting and self.waiting[0][0] <= now_ns:
            _, account_id, name, language = heapq.heappop(self.waiting)
            account = self._accounts.get(account_id)
            for template in account.book.named(name, language) if account else []:
                if template.status == "PENDING":
                    self._judge(account_id, template)

    def find(
        self, name: str, language: str | None, account_id: str | None = None
    ) -> list[tuple[str, Template]]:
        """Return (account id, template) of a name, in one language or all, in one account or all. `Refused`
        (132001) without any.
        """
        found = [
            (account.id, template)
            for account in self._accounts.values()
            if account_id in (None, account.id)
            for template in account.book.named(name, language)
        ]
        if not found:
            raise Refused(132001, f"template {name} does not exist")
        return found

    def decide(
        self, name: str, language: str | None, event: str, reason: str, account_id: str | None = None
    ) -> int:
        """Give the templates of a name the status that an event means. Return how many they are."""
        found = self.find(name, language, account_id)
        for owner_id, template in found:
            self.change(owner_id, template, event, reason)
        return len(found)

    def change(self, account_id: str, template: Template, event: str, reason: str) -> None:
        """Give a template the status that an event means, and announce the event."""
        status = STATUS_AFTER_EVENT.get(event, event)
        template.status, template.reason = status or template.status, reason
        self.announce_elsewhere(account_id, template, event)

    def announce_elsewhere(self, account_id: str, template: Template, event: str) -> None:
        """Announce an event of a template of this name and language in some account. Nothing changes."""
        value = template.announcement(event=event, reason=template.reason)
        self._announce(Update(account_id, None, TEMPLATE_STATUS, value))

    def rate(self, account_id: str, template: Template, score: str) -> None:
        """Set the quality of a template, and announce it."""
        value = template.announcement(previous_quality_score=template.quality, new_quality_score=score)
        template.quality, template.rated_s = score, self._clock.unix_s()
        self._announce(Update(account_id, None, TEMPLATE_QUALITY, value))

    def recategorise(
        self, account_id: str, template: Template, category: str, *, upcoming: bool = False
    ) -> None:
        """Move a template to another category, and announce it. An `upcoming` move is only announced."""
        if upcoming:
            value = template.announcement(new_category=template.category, correct_category=category)
        else:
            value = template.announcement(previous_category=template.category, new_category=category)
            template.category = category
        self._announce(Update(account_id, None, TEMPLATE_CATEGORY, value))

    def _judge(self, account_id: str, template: Template) -> None:
        if lacking_example(template):
            return self.change(account_id, template, "REJECTED", "INVALID_FORMAT")
        text = " ".join(str(component.get("text", "")) for component in template.components).lower()
        if template.category == "UTILITY" and any(word in text for word in MARKETING_WORDS):
            template.category = "MARKETING"
        return self.change(account_id, template, "APPROVED", "NONE")
