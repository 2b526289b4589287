"""The review of templates: what is submitted waits, is approved or rejected, and the business is told."""

import heapq
from typing import TYPE_CHECKING

from emulator.account import Account
from emulator.clock import SECOND_NS
from emulator.errors import Refused
from emulator.events.envelope import TEMPLATE_STATUS, Update
from emulator.templates.template import Template, lacking_example

if TYPE_CHECKING:
    from emulator.service import Service

# Words by which the reviewer takes a message of utility for marketing (open point: the category may change).
MARKETING_WORDS = ("offer", "sale", "discount", "% off", "buy now", "coupon")


class Reviewer:
    """Templates that wait, by when they are looked at."""

    def __init__(self, service: "Service") -> None:
        self._service = service
        # (due_ns, account id, name, language)
        self.waiting: list[tuple[int, str, str, str]] = []

    def submit(self, account: Account, template: Template) -> None:
        """Have a new template reviewed after the configured delay."""
        due_ns = self._service.clock.now_ns() + round(self._service.config.review_delay_s * SECOND_NS)
        heapq.heappush(self.waiting, (due_ns, account.id, template.name, template.language))

    def look(self, now_ns: int) -> None:
        """Decide about everything whose time has come and that is still pending."""
        while self.waiting and self.waiting[0][0] <= now_ns:
            _, account_id, name, language = heapq.heappop(self.waiting)
            account = self._service.accounts.get(account_id)
            for template in account.book.named(name, language) if account else []:
                if template.status == "PENDING":
                    self._judge(account_id, template)

    def decide(self, name: str, language: str | None, status: str, reason: str) -> int:
        """Set the status of a template, in one language or all; returns how many changed."""
        changed = 0
        for account in self._service.accounts.values():
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
        self._service.events.tell(Update(account_id, None, TEMPLATE_STATUS, template.announcement()))
