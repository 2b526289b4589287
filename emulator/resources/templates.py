"""The endpoints of an account's templates: list, create, delete."""

import orjson

from drumbeat.emulator.errors import Refused
from drumbeat.emulator.messaging_service import MessagingService
from drumbeat.emulator.resources.access import account_of
from drumbeat.emulator.resources.paging import check_query, page
from drumbeat.emulator.templates.book import TEMPLATE_LIMIT
from drumbeat.emulator.templates.read import read_template
from drumbeat.emulator.templates.template import CATEGORIES, STATUSES
from drumbeat.emulator.wire.request_reply import Reply, Request, json_reply, parse_object

FILTERS = ("name", "status", "category", "language")
_FILTER_WORDS = {"status": STATUSES, "category": CATEGORIES}


class TemplateEndpoints:
    """The endpoints `GET`, `POST` and `DELETE /{account}/message_templates`."""

    def __init__(self, service: MessagingService) -> None:
        self._service = service

    def list(self, request: Request) -> Reply:
        """List templates by the query's filters, in the order of creation."""
        book = account_of(self._service, request).book
        check_query(request, *FILTERS)
        wanted = {name: _values(value) for name in FILTERS if (value := request.query.get(name))}
        for name, words in _FILTER_WORDS.items():
            if unknown := sorted(set(wanted.get(name, ())) - set(words)):
                raise Refused(100, f"{name} is one of {', '.join(words)}, not {', '.join(unknown)}")
        kept = [
            record
            for record in (template.record(request.query.get("fields")) for template in book)
            if all(record[name] in values for name, values in wanted.items())
        ]
        summary = {
            "total_count": len(kept),
            "message_template_count": len(book),
            "message_template_limit": TEMPLATE_LIMIT,
            "are_translations_complete": True,
        }
        return page(request, kept, self._service.base_url, summary)

    def create(self, request: Request) -> Reply:
        """Create a template that waits for review. `Refused` (100) for an impossible one."""
        account = account_of(self._service, request)
        template = read_template(parse_object(request.body), self._service.ids.new())
        account.book.add(template)
        self._service.reviewer.submit(account, template)
        return json_reply({"id": template.id, "status": template.status, "category": template.category})

    def delete(self, request: Request) -> Reply:
        """Delete every language of the template named in the query, or the one with its id (`hsm_id`)."""
        book = account_of(self._service, request).book
        name = request.query.get("name")
        if not name:
            raise Refused(100, "the query names the template: ?name=")
        book.remove(name, request.query.get("hsm_id") or None)
        return json_reply({"success": True})


def _values(filter_text: str) -> list[str]:
    """Return the values of a list filter: one, a comma list, or a JSON array (open point)."""
    if not filter_text.startswith("["):
        return filter_text.split(",")
    try:
        values = orjson.loads(filter_text)
    except orjson.JSONDecodeError:
        raise Refused(100, "a filter is a value, a comma list or a JSON array of texts") from None
    return [str(value) for value in values]
