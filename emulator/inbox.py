"""What customers write: opens the window of 24 hours, is told to the business, can be marked as read."""

from typing import TYPE_CHECKING, Any

from emulator.errors import Refused
from emulator.events.envelope import MESSAGES, Update
from emulator.identity import Number
from emulator.wire.message import json_reply, render

if TYPE_CHECKING:
    from emulator.service import Service

# Incoming messages remembered, so that they can be marked as read.
INCOMING_LIMIT = 100_000


class Inbox:
    """Incoming messages by their wamid."""

    def __init__(self, service: "Service") -> None:
        self._service = service
        # wamid -> [phone number id, whether it was marked as read]
        self.messages: dict[str, list[Any]] = {}

    def receive(self, number: Number, sender: int, message: dict[str, Any], name: str) -> str:
        """A message from a customer; `message` holds the type and its content. Returns the wamid."""
        service = self._service
        now_ns = service.clock.now_ns()
        number.windows[sender] = now_ns
        # Inbound takes part in the number's throughput, but is never refused.
        if not number.window.full(now_ns):
            number.window.count(now_ns)
        wamid = f"wamid.HBgI{service.new_id()}"
        if len(self.messages) >= INCOMING_LIMIT:
            del self.messages[next(iter(self.messages))]
        self.messages[wamid] = [number.id, False]
        wa_id = service.people.wa_id(sender)
        value = {"from": wa_id, "id": wamid, "timestamp": str(service.clock.unix_s()), **message}
        contact = {"profile": {"name": name}, "wa_id": wa_id}
        service.events.tell(Update(number.account_id, number.id, MESSAGES, value, "messages", contact))
        return wamid

    def mark_read(self, number: Number, message: dict[str, Any]) -> bytes:
        """A request of the send endpoint that marks an incoming message as read (open point)."""
        if message["status"] != "read":
            raise Refused(131009, "status is read")
        message_id = message.get("message_id")
        known = self.messages.get(message_id) if isinstance(message_id, str) else None
        if known is None or known[0] != number.id:
            raise Refused(131009, "message_id is not a message that this number received")
        known[1] = True
        return render(json_reply({"success": True}))
