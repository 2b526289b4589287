"""A status as the event shows it. Made from the ledger when the event is sent."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from emulator.account import Account
from emulator.clock import Clock
from emulator.errors import KINDS
from emulator.events.envelope import MESSAGES, Update
from emulator.identity import Number
from emulator.ledger.kinds import MessageKind
from emulator.ledger.ledger import Ledger
from emulator.people import People
from emulator.schedule import STATUS_WORDS, Status

DETAILS = {
    131026: "the recipient is not on the network or has blocked the business",
    132015: "the template was paused after the message was accepted",
}


class StatusPacker:
    """Reads the ledger for the details that a status does not carry itself."""

    def __init__(
        self,
        ledger: Ledger,
        numbers: Mapping[str, Number],
        accounts: Mapping[str, Account],
        people: People,
        clock: Clock,
    ) -> None:
        self._ledger = ledger
        self._numbers = numbers
        self._accounts = accounts
        self._people = people
        self._clock = clock

    def __call__(self, status: Status) -> Update:
        """The update of one status."""
        ledger = self._ledger
        kind = ledger.kind(status.message)
        account_id = self._numbers[kind.number_id].account_id
        value: dict[str, Any] = {
            "id": ledger.wamid(status.message),
            "status": STATUS_WORDS[status.status],
            "timestamp": str(self._clock.unix_s(status.due_ns)),
            "recipient_id": self._people.wa_id(ledger.recipient(status.message)),
        }
        tag = ledger.tag(status.message)
        if tag is not None:
            value["biz_opaque_callback_data"] = tag
        if status.error_code:
            value["errors"] = [_error(status.error_code)]
        else:
            value["pricing"] = self._pricing(account_id, kind)
        return Update(account_id, kind.number_id, MESSAGES, value, "statuses")

    def _pricing(self, account_id: str, kind: MessageKind) -> dict[str, Any]:
        return _pricing(self._accounts[account_id].category(kind.template_key))


@cache
def _pricing(category: str) -> dict[str, Any]:
    """Shared by every status of the category, so it is never changed."""
    return {"billable": category != "service", "pricing_model": "PMP", "category": category}


def _error(code: int) -> dict[str, Any]:
    title = KINDS[code].title if code in KINDS else "Message failed"
    details = DETAILS.get(code, "the message could not be delivered to this recipient")
    return {"code": code, "title": title, "message": title, "error_data": {"details": details}}
