"""The packing of a subscriber's updates into the body of a POST. Statuses get their details only now."""

import gzip
from collections.abc import Mapping
from functools import cache
from typing import Any

from drumbeat.emulator.account import Account
from drumbeat.emulator.clock import Clock
from drumbeat.emulator.config import EmulatorConfig
from drumbeat.emulator.errors import KINDS
from drumbeat.emulator.events.envelope import MESSAGES, Update, envelope
from drumbeat.emulator.events.subscriber import Batch, Subscriber
from drumbeat.emulator.faults.table import Faults
from drumbeat.emulator.identity import Number
from drumbeat.emulator.ledger.kinds import MessageKind
from drumbeat.emulator.ledger.ledger import Ledger
from drumbeat.emulator.naming import named
from drumbeat.emulator.people import People
from drumbeat.emulator.schedule import STATUS_WORDS, Marks, Status

# The account in the entry of an event that is marked as another's.
OTHER_ACCOUNT = "999999999999999"
DETAILS = {
    131026: "the recipient is not on the network or has blocked the business",
    132015: "the template was paused after the message was accepted",
}


class Packer:
    """A maker of batches. The details of a status come from the ledger."""

    def __init__(
        self,
        config: EmulatorConfig,
        clock: Clock,
        ledger: Ledger,
        numbers: Mapping[str, Number],
        accounts: Mapping[str, Account],
        *,
        people: People,
        faults: Faults,
    ) -> None:
        self._config = config
        self._ledger = ledger
        self._numbers = numbers
        self._accounts = accounts
        self._people = people
        self._faults = faults
        self._clock = clock
        self._batches = 0

    def next_batch(self, subscriber: Subscriber) -> Batch | None:
        """Return the batch to POST next to a subscriber: a retry that is due, else updates from its
        outbox.
        """
        now_ns = self._clock.now_ns()
        retry = subscriber.due_retry(now_ns)
        if retry is not None or not subscriber.may_pack:
            return retry
        waiting = subscriber.take(self._config.events_per_post)
        self._batches += 1
        updates = (self._update(each) if isinstance(each, Status) else each for each in waiting)
        displays = {number.id: number.display_phone_number for number in self._numbers.values()}
        body = envelope(updates, self._config.product, displays, self._clock.unix_s(now_ns))
        encoding = self._faults.encoding_of_post(now_ns)
        if encoding is not None:
            body = gzip.compress(body, mtime=0)
        return Batch(now_ns, self._batches, body, len(waiting), 1, now_ns, encoding)

    def _update(self, status: Status) -> Update:
        ledger = self._ledger
        kind = ledger.kind(status.message)
        account_id = self._numbers[kind.number_id].account_id
        recipient = ledger.recipient(status.message)
        value: dict[str, Any] = {
            "id": ledger.wamid(status.message),
            "status": STATUS_WORDS[status.status],
            "timestamp": str(self._clock.unix_s(status.due_ns)),
            "recipient_id": self._people.wa_id(recipient),
        }
        if not self._people.all_plain:
            del value["recipient_id"]
            value.update(self._people.naming(recipient).recipient())
        tag = ledger.tag(status.message)
        if tag is not None:
            value["biz_opaque_callback_data"] = tag
        if status.error_code:
            value["errors"] = [_error(status.error_code)]
        else:
            value["pricing"] = self._pricing(account_id, kind)
        if status.marks:
            self._write_otherwise(status, value)
            account_id = OTHER_ACCOUNT if status.marks & Marks.ELSEWHERE else account_id
        return Update(account_id, kind.number_id, MESSAGES, value, "statuses")

    def _write_otherwise(self, status: Status, value: dict[str, Any]) -> None:
        """Change a status into the form that its marks ask for."""
        recipient = self._ledger.recipient(status.message)
        wa_id, user_id = self._people.wa_id(recipient), self._people.user_id(recipient)
        for mark, how in ((Marks.PLUS, "plus"), (Marks.USER_ID, "user-id")):
            if status.marks & mark:
                value.pop("recipient_id", None)
                value.update(named(how, wa_id, user_id).recipient())
        if status.marks & Marks.UNBILLED and "pricing" in value:
            value["pricing"] = {name: each for name, each in value["pricing"].items() if name != "billable"}

    def _pricing(self, account_id: str, kind: MessageKind) -> dict[str, Any]:
        return _pricing(self._accounts[account_id].category(kind.template_key))


@cache
def _pricing(category: str) -> dict[str, Any]:
    """Return the price of a category. All statuses of the category share it, so it is never changed."""
    kind = "free_customer_service" if category == "service" else "regular"
    return {
        "billable": category != "service", "pricing_model": "PMP", "type": kind, "category": category
    }  # fmt: skip


def _error(code: int) -> dict[str, Any]:
    title = KINDS[code].title if code in KINDS else "Message failed"
    details = DETAILS.get(code, "the message could not be delivered to this recipient")
    return {"code": code, "title": title, "message": title, "error_data": {"details": details}}
