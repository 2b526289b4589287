"""The messages from customers: each opens the window of 24 hours and is announced, and can be marked
as read.
"""

from collections.abc import Callable
from typing import Any

from drumbeat.emulator.clock import Clock
from drumbeat.emulator.errors import Refused
from drumbeat.emulator.events.envelope import MESSAGES, USER_PREFERENCES, Update
from drumbeat.emulator.identity import Number
from drumbeat.emulator.ids import Ids
from drumbeat.emulator.naming import Naming
from drumbeat.emulator.people import People
from drumbeat.emulator.wire.request_reply import json_reply, render

# Messages that can still be marked as read. At the limit the oldest is forgotten.
INCOMING_LIMIT = 100_000


class IncomingMessages:
    """The messages by their wamid. `announce` queues an event."""

    def __init__(self, clock: Clock, ids: Ids, people: People, announce: Callable[[Update], None]) -> None:
        self._clock = clock
        self._ids = ids
        self._people = people
        self._announce = announce
        # wamid -> [phone number id, whether it was marked as read]
        self.messages: dict[str, list[Any]] = {}

    def receive(
        self,
        number: Number,
        sender: int | None,
        message: dict[str, Any],
        name: str,
        naming: Naming | None = None,
    ) -> str:
        """Store a message from a customer and return its wamid. `message` holds the type and its content.

        `sender` is their phone, None if it is not known. `naming` is how the event names them.
        """
        now_ns = self._clock.now_ns()
        if sender is not None:
            number.windows[sender] = now_ns
            naming = naming or self._people.naming(sender)
        assert naming is not None
        # An incoming message takes part in the number's throughput, but is never refused.
        if not number.window.full(now_ns):
            number.window.count(now_ns)
        wamid = f"wamid.HBgI{self._ids.new()}"
        if len(self.messages) >= INCOMING_LIMIT:
            del self.messages[next(iter(self.messages))]
        self.messages[wamid] = [number.id, False]
        value = {**naming.sender(), "id": wamid, "timestamp": str(self._clock.unix_s()), **message}
        contact = naming.contact(name)
        self._announce(Update(number.account_id, number.id, MESSAGES, value, "messages", contact))
        return wamid

    def change_number(self, number: Number, sender: int, new: str) -> str:
        """Report that a customer has a new phone number. Return the wamid of the message of the service."""
        old = self._people.wa_id(sender)
        system = {
            "body": f"Customer changed from {old} to {new}",
            "type": "user_changed_number",
            "wa_id": new,
            "new_wa_id": new,
        }
        return self.receive(number, sender, {"type": "system", "system": system}, "Customer")

    def prefer(
        self, number: Number, naming: Naming, value: str, category: str = "marketing_messages"
    ) -> None:
        """Report what a customer chose in the app: to stop or to resume messages of a category."""
        preference = {
            **naming.person(),
            "detail": f"the customer asked to {value} them",
            "category": category,
            "value": value,
            "timestamp": str(self._clock.unix_s()),
        }
        update = Update(
            number.account_id, number.id, USER_PREFERENCES, preference, USER_PREFERENCES,
            naming.contact("Customer"),
        )  # fmt: skip
        self._announce(update)

    def mark_read(self, number: Number, message: dict[str, Any]) -> bytes:
        """Mark an incoming message as read, by a request of the send endpoint (open point)."""
        if message["status"] != "read":
            raise Refused(131009, "status is read")
        message_id = message.get("message_id")
        known = self.messages.get(message_id) if isinstance(message_id, str) else None
        if known is None or known[0] != number.id:
            raise Refused(131009, "message_id is not a message that this number received")
        known[1] = True
        return render(json_reply({"success": True}))
