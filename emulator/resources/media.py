"""The endpoints of media: upload, look up, download, delete."""

from drumbeat.emulator.errors import Refused
from drumbeat.emulator.identity import MESSAGING
from drumbeat.emulator.media import MediaItem
from drumbeat.emulator.messaging_service import MessagingService
from drumbeat.emulator.resources.access import number_of
from drumbeat.emulator.wire.form import read_form
from drumbeat.emulator.wire.request_reply import Reply, Request, json_reply


class MediaEndpoints:
    """The endpoints `POST /{number}/media`, `GET` and `DELETE /{media}`, and the download address."""

    def __init__(self, service: MessagingService) -> None:
        self._service = service

    def upload(self, request: Request) -> Reply:
        """Store the file of a form of `messaging_product`, `type` (MIME) and `file`."""
        number = number_of(self._service, request)
        form = read_form(request.headers.get(b"content-type", b""), request.body)
        product = form.get("messaging_product")
        if product is None or product.content.decode("utf-8", "replace") != self._service.config.product:
            raise Refused(100, f'messaging_product is required and is "{self._service.config.product}"')
        if "file" not in form:
            raise Refused(100, "file is required")
        file = form["file"]
        mime_type = form["type"].content.decode("ascii", "replace").strip() if "type" in form else ""
        if not mime_type:
            raise Refused(100, "type is required: the MIME type of the file, such as image/jpeg")
        item = self._service.media.keep(number.id, mime_type, file.content)
        return json_reply({"id": item.id})

    def show(self, request: Request, media_id: str) -> Reply:
        """Show the properties of the file, and an address to fetch it from within five minutes."""
        item, token = self._item(request, media_id)
        ticket = self._service.media.ticket(item.id, token)
        return json_reply({
            "messaging_product": self._service.config.product,
            "url": f"{self._service.base_url}/media/{ticket}",
            "mime_type": item.mime_type,
            "sha256": item.sha256,
            "file_size": len(item.content),
            "id": item.id,
        })  # fmt: skip

    def delete(self, request: Request) -> Reply:
        """Forget an upload."""
        item, _ = self._item(request, request.variables["id"])
        self._service.media.remove(item.id)
        return json_reply({"success": True})

    def download(self, request: Request) -> Reply:
        """Send the file itself, with the token that asked for the address. 404 when its time is over."""
        token = self._service.tokens.find(request.headers.get(b"authorization"))
        self._service.tokens.check(token, MESSAGING, None)
        item = self._service.media.redeem(request.variables["ticket"], token.value)
        if item is None:
            raise Refused(100, "this address is no longer valid, or belongs to another token", 404)
        return Reply(200, item.content, item.mime_type)

    def _item(self, request: Request, media_id: str) -> tuple[MediaItem, str]:
        """Return the file and the token. `Refused` 190, 10, 33, or 100 if `phone_number_id` is another
        number.
        """
        token = self._service.tokens.find(request.headers.get(b"authorization"))
        item = self._service.media.find(media_id)
        number = self._service.numbers.get(item.number_id) if item else None
        self._service.tokens.check(token, MESSAGING, number.account_id if number else None)
        if item is None:
            raise Refused(33, f"object with id {media_id} does not exist")
        if request.query.get("phone_number_id", item.number_id) != item.number_id:
            raise Refused(100, f"the file {media_id} is not of the number that phone_number_id names")
        return item, token.value
