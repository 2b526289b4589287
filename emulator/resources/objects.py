"""The endpoints `GET` and `DELETE /{id}`: the id is an account, a number, a template or a file."""

from drumbeat.emulator.errors import Refused
from drumbeat.emulator.identity import MANAGEMENT
from drumbeat.emulator.messaging_service import MessagingService
from drumbeat.emulator.resources.access import account_of, managed_number_of, spend_call, token_of
from drumbeat.emulator.resources.analytics import Analytics
from drumbeat.emulator.resources.media import MediaEndpoints
from drumbeat.emulator.resources.numbers import number_record
from drumbeat.emulator.resources.paging import select
from drumbeat.emulator.wire.request_reply import Reply, Request, json_reply


class ObjectEndpoints:
    """The endpoints of an object by its id: an account with its analytics, a number, a template, or
    a file.
    """

    def __init__(self, service: MessagingService, media: MediaEndpoints) -> None:
        self._service = service
        self._media = media
        self._analytics = Analytics(service)

    async def show(self, request: Request) -> Reply:
        """Show the object, with the fields asked for."""
        object_id = request.variables["id"]
        if object_id in self._service.accounts:
            account = account_of(self._service, request)
            fields = request.query.get("fields", "id,name")
            plain = select({"id": account.id, "name": account.name}, fields)
            return json_reply({**await self._analytics.read(account, fields), **plain})
        if object_id in self._service.numbers:
            number = managed_number_of(self._service, request)
            return json_reply(select(number_record(number), request.query.get("fields")))
        for account in self._service.accounts.values():
            if (template := account.book.with_id(object_id)) is not None:
                token = token_of(self._service, request, MANAGEMENT)
                self._service.tokens.check(token, MANAGEMENT, account.id)
                spend_call(self._service, account, token)
                wanted = request.query.get("fields")
                return json_reply(select(template.record(wanted), wanted))
        return self._media.show(request, object_id)

    def delete(self, request: Request) -> Reply:
        """Delete a file by its id. No other object can be deleted so."""
        if request.variables["id"] in (*self._service.accounts, *self._service.numbers):
            raise Refused(100, "only media can be deleted by its id")
        return self._media.delete(request)
