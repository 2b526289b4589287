"""The row of the interface that sends one message, or marks an incoming one as read."""

from dataclasses import dataclass

from drumbeat.engine.api.caller import IN_DOUBT, Caller
from drumbeat.engine.api.fields import objects_of, text_of
from drumbeat.engine.api.service_error import ServiceError
from drumbeat.engine.core.message_types import Message, read_request, send_request


@dataclass(frozen=True, slots=True)
class SentMessage:
    """An accepted message: its wamid, and the recipient as the network spells them.

    `held` says that the service holds the message for a quality check.
    """

    wamid: str
    wa_id: str
    held: bool


class Messages:
    """The row `POST /{phone number ID}/messages`. It keeps no record and no pace: campaigns do."""

    def __init__(self, caller: Caller, product: str) -> None:
        self._caller = caller
        self._product = product

    async def send(
        self,
        phone_number_id: str,
        to: str,
        message: Message,
        *,
        reply_to: str | None = None,
        tag: str | None = None,
    ) -> SentMessage:
        """Send a message of any type, once.

        `to` is the recipient: digits with the country code. `reply_to` is the wamid of the message that this
        one answers. Raises UsageError if the message breaks a rule of the interface; nothing is sent then.
        After Unreachable the message may have been accepted.
        """
        body = send_request(self._product, to, message, reply_to=reply_to, tag=tag)
        path = f"{phone_number_id}/messages"
        answer = await self._caller.call("POST", path, content=body)
        sent = next(iter(objects_of(answer, "messages")), {})
        if not (wamid := text_of(sent, "id")):
            raise ServiceError("the answer names no message", where=path, remedy=IN_DOUBT)
        contact = next(iter(objects_of(answer, "contacts")), {})
        held = text_of(sent, "message_status") == "held_for_quality_assessment"
        return SentMessage(wamid, text_of(contact, "wa_id"), held)

    async def mark_read(self, phone_number_id: str, wamid: str) -> None:
        """Mark an incoming message as read."""
        body = read_request(self._product, wamid)
        await self._caller.call("POST", f"{phone_number_id}/messages", content=body)
