"""A status as the event shows it, made from the ledger when it is sent."""

from functools import cache
from typing import TYPE_CHECKING, Any

from emulator.errors import KINDS
from emulator.events.envelope import MESSAGES, Update
from emulator.events.schedule import STATUS_WORDS, Status
from emulator.ledger import Call

if TYPE_CHECKING:
    from emulator.service import Service

DETAILS = {
    131026: "the recipient is not on the network or has blocked the business",
    132015: "the template was paused after the message was accepted",
}


class StatusPacker:
    """Reads the ledger for the details that a status does not carry itself."""

    def __init__(self, service: "Service") -> None:
        self._service = service

    def __call__(self, status: Status) -> Update:
        """The update of one status."""
        service = self._service
        call = service.ledger.call(status.place)
        account_id = service.numbers[call.number_id].account_id
        value: dict[str, Any] = {
            "id": service.ledger.wamid(status.place),
            "status": STATUS_WORDS[status.status],
            "timestamp": str(service.clock.unix_s(status.due_ns)),
            "recipient_id": service.people.wa_id(service.ledger.recipient(status.place)),
        }
        tag = service.ledger.tag(status.place)
        if tag is not None:
            value["biz_opaque_callback_data"] = tag
        if status.error_code:
            value["errors"] = [_error(status.error_code)]
        else:
            value["pricing"] = self._pricing(account_id, call)
        return Update(account_id, call.number_id, MESSAGES, value, "statuses")

    def _pricing(self, account_id: str, call: Call) -> dict[str, Any]:
        template = None if call.template is None else (call.template, call.language or "")
        category = self._service.category(self._service.accounts[account_id], template)
        return _pricing(category)


@cache
def _pricing(category: str) -> dict[str, Any]:
    """Shared by every status of the category: nobody writes into it."""
    return {"billable": category != "service", "pricing_model": "PMP", "category": category}


def _error(code: int) -> dict[str, Any]:
    title = KINDS[code].title if code in KINDS else "Message failed"
    details = DETAILS.get(code, "the message could not be delivered to this recipient")
    return {"code": code, "title": title, "message": title, "error_data": {"details": details}}
