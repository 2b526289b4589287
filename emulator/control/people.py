"""The endpoints that play the customers: they write in, are off the network, fail or read. Also the summary
of events.
"""

import base64
import binascii
import re
from typing import Any

from drumbeat.emulator.content.rules import check_depth
from drumbeat.emulator.content.table import INCOMING_TYPES, MEDIA_TYPES
from drumbeat.emulator.control.fields import check_members, digits, field, optional
from drumbeat.emulator.errors import Refused
from drumbeat.emulator.faults.happenings import other_id
from drumbeat.emulator.identity import Number
from drumbeat.emulator.messaging_service import MessagingService
from drumbeat.emulator.naming import Naming
from drumbeat.emulator.schedule import READ, Status
from drumbeat.emulator.wire.request_reply import Reply, Request, json_reply, parse_object

# Members of the body that are no part of the message itself.
_ROUTING = (
    "phone_number_id", "from", "user_id", "name", "text", "file", "quotes", "other_id", "new_number",
)  # fmt: skip
_USER_ID = re.compile(r"[A-Z]{2}\.[0-9A-Za-z]{1,128}")
_PHONE = re.compile(r"\+?[0-9]{1,15}", re.ASCII)
# Longer than any phone: the id of a group, as `from` may also have it.
_LONG = re.compile(r"[0-9]{16,32}", re.ASCII)
# A one-pixel PNG: what a customer's picture is, unless the caller brings a file.
_PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg=="
)
_MIME_TYPES = {
    "image": "image/png",
    "video": "video/mp4",
    "audio": "audio/ogg",
    "document": "application/pdf",
    "sticker": "image/webp",
}


class PeopleControl:
    """The endpoints `/_emulator/incoming`, `/_emulator/recipients`, `/_emulator/reads` and
    `/_emulator/events/summary`.
    """

    def __init__(self, service: MessagingService) -> None:
        self._service = service

    def incoming(self, request: Request) -> Reply:
        """Let a customer write in, which opens the window: `{"phone_number_id"?, "from"?, "user_id"?,
        "text"?, "name"?, "quotes"?, "other_id"?, "new_number"?}`.

        `from` is the digits of a phone, perhaps with a plus, or what else a service puts there: a user id, or
        more digits than a phone has. Without it, `user_id` names the sender. `quotes` is the id of the
        message that is answered; with `other_id`, another id stands in its place. `new_number` reports that
        the customer has this number now.

        Instead of `text`, the body may have `type` and the object of that type, as the event shows them. The
        file of a media type is `file` in base64, or a made-up one. It arrives as a media id.
        """
        content = parse_object(request.body)
        number = self._number(content.get("phone_number_id"))
        sender, naming = self._sender(content)
        name = optional(content, "name", str) or "Customer"
        if "new_number" in content:
            wamid = self._service.incoming.change_number(
                number, digits(content, "from"), str(digits(content, "new_number"))
            )
            return json_reply({"success": True, "id": wamid})
        message = self._message(number, content)
        if (quoted := optional(content, "quotes", str)) is not None:
            is_other = optional(content, "other_id", bool)
            quoted = other_id(quoted) if is_other else quoted
            message["context"] = {"from": number.display_phone_number, "id": quoted}
        check_depth(message)
        wamid = self._service.incoming.receive(number, sender, message, name, naming)
        return json_reply({"success": True, "id": wamid})

    def _message(self, number: Number, content: dict[str, Any]) -> dict[str, Any]:
        """Return the type and the object of that type."""
        message = {key: value for key, value in content.items() if key not in _ROUTING}
        kind = message.setdefault("type", "text")
        if kind not in INCOMING_TYPES:
            raise Refused(100, f"type is one of {', '.join(INCOMING_TYPES)}")
        if kind == "text":
            text = content.get("text")
            message["text"] = text if isinstance(text, dict) else {"body": str(text or "Hello")}
        elif kind in MEDIA_TYPES:
            message[kind] = self._attach(number, kind, content)
        elif kind not in message and kind != "unsupported":
            raise Refused(100, f"{kind} is required for type {kind}")
        return message

    def _sender(self, content: dict[str, Any]) -> tuple[int | None, Naming | None]:
        """Return the phone of who writes, and how the event names them, if another way than usually."""
        given, user_id = optional(content, "from", str), optional(content, "user_id", str)
        if user_id is not None and not _USER_ID.fullmatch(user_id):
            raise Refused(100, "user_id is such as US.1349120865530274")
        if given is None and user_id is not None:
            return None, Naming(None, user_id)
        if given is not None and (_USER_ID.fullmatch(given) or _LONG.fullmatch(given)):
            return None, Naming(given, user_id)
        if given is None or not _PHONE.fullmatch(given):
            raise Refused(100, "from is the digits of a phone number, or there is a user_id")
        is_usual = user_id is None and not given.startswith("+")
        return int(given), None if is_usual else Naming(given, user_id)

    def _attach(self, number: Number, kind: str, content: dict[str, Any]) -> dict[str, Any]:
        given = optional(content, kind, dict) or {}
        try:
            file = base64.b64decode(optional(content, "file", str) or "", validate=True) or _PIXEL
        except binascii.Error:
            raise Refused(100, "file is base64") from None
        mime_type = str(given.get("mime_type") or _MIME_TYPES[kind])
        item = self._service.media.keep(number.id, mime_type, file)
        return {"id": item.id, "mime_type": item.mime_type, "sha256": item.sha256, **given}

    def recipient(self, request: Request) -> Reply:
        """Set the behaviour of a recipient: `{"to", "on_network"?, "blocks"?, "fails_with"?, "reads"?,
        "wa_id"?, "user_id"?, "hides_phone"?}`.

        `fails_with` 0 means that nothing fails. `wa_id` is another spelling, perhaps with a plus. Events name
        a person with a `user_id` by it too, and one with `hides_phone` by it alone.
        """
        content = parse_object(request.body)
        check_members(
            content, "to", "on_network", "blocks", "fails_with", "reads", "wa_id", "user_id", "hides_phone"
        )
        recipient = digits(content, "to")
        wa_id, user_id = optional(content, "wa_id", str), optional(content, "user_id", str)
        if wa_id is not None and not _PHONE.fullmatch(wa_id):
            raise Refused(100, "wa_id is the digits of a phone number, perhaps with a plus")
        if user_id is not None and not _USER_ID.fullmatch(user_id):
            raise Refused(100, "user_id is such as US.1349120865530274")
        kinds = {"on_network": bool, "reads": bool, "fails_with": int, "wa_id": str, "user_id": str}
        changes: dict[str, Any] = {
            name: optional(content, name, kind) for name, kind in kinds.items() if name in content
        }
        for name in ("blocks", "hides_phone"):
            if name in content:
                changes[name] = field(content, name, bool)
        try:
            person = self._service.people.know(recipient)
        except ValueError as error:
            raise Refused(100, str(error)) from None
        for name, value in changes.items():
            setattr(person, name, value)
        return json_reply({"success": True})

    def read_late(self, request: Request) -> Reply:
        """Let the recipient of the message `{"id"}` read it now."""
        wamid = field(parse_object(request.body), "id", str)
        index = self._service.ledger.index_of(wamid)
        if index is None:
            raise Refused(100, "id is not a message of the ledger")
        self._service.schedule.add(Status(self._service.clock.now_ns(), index, READ))
        return json_reply({"success": True})

    def events(self, _request: Request) -> Reply:
        """Return the counts of updates that are pending, delivered and failed, over all and for each
        subscriber.
        """
        return json_reply(self._service.events.summary())

    def _number(self, number_id: object) -> Number:
        numbers = self._service.numbers
        if number_id is None and numbers:
            return next(iter(numbers.values()))
        if not isinstance(number_id, str) or number_id not in numbers:
            raise Refused(33, f"phone number {number_id} does not exist")
        return numbers[number_id]
