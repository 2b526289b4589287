"""The review of templates: a template waits, is approved or rejected, and that is announced."""

import heapq
from collections.abc import Callable, Mapping

from drumbeat.emulator.account import Account
from drumbeat.emulator.clock import SECOND_NS, Clock
from drumbeat.emulator.errors import Refused
from drumbeat.emulator.events.envelope import TEMPLATE_STATUS, Update
from drumbeat.emulator.templates.examples import lacking_example
from drumbeat.emulator.templates.template import Template

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

    def decide(self, name: str, language: str | None, status: str, reason: str) -> int:
        """Set the status of a template, in one language or all; returns how many changed."""
        changed = 0
        for account in self._accounts.values():
            for template in account.book.named(name, language):
                self._set(account.id, template, status, reason)
                changed += 1
        if not changed:
            raise Refused(132001, f"template {name} does not exist")
        return changed

    def _judge(self, account_id: str, template: Template) -> None:
        if lacking_example(template):
            return self._set(account_id, template, "REJECTED", "INVALID_FORMAT")
        text = " ".join(str(component.get("text", "")) for component in template.components).lower()
        if template.category == "UTILITY" and any(word in text for word in MARKETING_WORDS):
            template.category = "MARKETING"
        return self._set(account_id, template, "APPROVED", "NONE")

    def _set(self, account_id: str, template: Template, status: str, reason: str) -> None:
        template.status, template.reason = status, reason
        self._announce(Update(account_id, None, TEMPLATE_STATUS, template.announcement()))
