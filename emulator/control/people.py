"""The endpoints that play the customers: they write in, are off the network, fail or read. Also the summary
of events.
"""

import base64
import binascii
from typing import Any

from drumbeat.emulator.content.rules import check_depth
from drumbeat.emulator.content.table import INCOMING_TYPES, MEDIA_TYPES
from drumbeat.emulator.control.fields import check_members, digits, field, optional
from drumbeat.emulator.errors import Refused
from drumbeat.emulator.identity import Number
from drumbeat.emulator.messaging_service import MessagingService
from drumbeat.emulator.schedule import READ, Status
from drumbeat.emulator.wire.request_reply import Reply, Request, json_reply, parse_object

# Members of the body that are no part of the message itself.
_ROUTING = ("phone_number_id", "from", "name", "text", "file")
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
        """Let a customer write in, which opens the window: `{"phone_number_id"?, "from", "text"?, "name"?}`.

        Instead of `text`, the body may have `type` and the object of that type, as the event shows them. The
        file of a media type is `file` in base64, or a made-up one. It arrives as a media id.
        """
        content = parse_object(request.body)
        number = self._number(content.get("phone_number_id"))
        sender, name = digits(content, "from"), optional(content, "name", str) or "Customer"
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
        check_depth(message)
        return json_reply(
            {"success": True, "id": self._service.incoming.receive(number, sender, message, name)}
        )

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
        "wa_id"?}`.

        `fails_with` 0 means that nothing fails.
        """
        content = parse_object(request.body)
        check_members(content, "to", "on_network", "blocks", "fails_with", "reads", "wa_id")
        recipient = digits(content, "to")
        if "wa_id" in content and content["wa_id"] is not None:
            digits(content, "wa_id")
        kinds = {"on_network": bool, "reads": bool, "fails_with": int, "wa_id": str}
        changes: dict[str, Any] = {
            name: optional(content, name, kind) for name, kind in kinds.items() if name in content
        }
        if "blocks" in content:
            changes["blocks"] = field(content, "blocks", bool)
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
