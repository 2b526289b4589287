"""The templates of an account: list, create, delete."""

import re
from collections.abc import Mapping
from typing import Any

from emulator.content.rules import check_depth
from emulator.errors import Refused
from emulator.messaging_service import MessagingService
from emulator.resources.access import account_of
from emulator.resources.paging import page
from emulator.templates.book import TEMPLATE_LIMIT
from emulator.templates.template import CATEGORIES, Template
from emulator.wire.request_reply import Reply, Request, json_reply, parse_object

_NAME = re.compile(r"[a-z0-9_]{1,512}")
_LANGUAGE = re.compile(r"[a-z]{2,3}(_[A-Z]{2,3})?")
_COMPONENT_TYPES = ("HEADER", "BODY", "FOOTER", "BUTTONS")
BODY_LIMIT_CHARACTERS = 1024


class TemplateEndpoints:
    """`GET`, `POST` and `DELETE /{account}/message_templates`."""

    def __init__(self, service: MessagingService) -> None:
        self._service = service

    def list(self, request: Request) -> Reply:
        """Templates by the query's filters, in the order of creation."""
        book = account_of(self._service, request).book
        records = [template.record() for template in book]
        wanted = {
            name: value.split(",")
            for name in ("name", "status", "category", "language")
            if (value := request.query.get(name))
        }
        kept = [
            record for record in records if all(record[name] in values for name, values in wanted.items())
        ]
        summary = {
            "total_count": len(kept),
            "message_template_count": len(book),
            "message_template_limit": TEMPLATE_LIMIT,
            "are_translations_complete": True,
        }
        return page(request, kept, self._service.base_url, summary)

    def create(self, request: Request) -> Reply:
        """A new template, waiting for review; `Refused` (100) for one that cannot be."""
        account = account_of(self._service, request)
        template = read_template(parse_object(request.body), self._service.ids.new())
        account.book.add(template)
        self._service.reviewer.submit(account, template)
        return json_reply({"id": template.id, "status": template.status, "category": template.category})

    def delete(self, request: Request) -> Reply:
        """Every language of the template named in the query."""
        book = account_of(self._service, request).book
        name = request.query.get("name")
        if not name:
            raise Refused(100, "the query names the template: ?name=")
        book.remove(name)
        return json_reply({"success": True})


def read_template(content: Mapping[str, Any], template_id: str) -> Template:
    """A template from the body of a request to create one."""
    name, language, category = (content.get(each) for each in ("name", "language", "category"))
    if not (isinstance(name, str) and _NAME.fullmatch(name)):
        raise Refused(100, "name is lower-case letters, digits and underscores")
    if not (isinstance(language, str) and _LANGUAGE.fullmatch(language)):
        raise Refused(100, "language is a code such as en or en_US")
    if category not in CATEGORIES:
        raise Refused(100, f"category is one of {', '.join(CATEGORIES)}")
    parameter_format = content.get("parameter_format", "POSITIONAL")
    if parameter_format not in ("POSITIONAL", "NAMED"):
        raise Refused(100, "parameter_format is POSITIONAL or NAMED")
    components = _read_components(content.get("components"))
    check_depth(components)
    return Template(template_id, name, language, category, components, parameter_format=parameter_format)


def _read_components(components: Any) -> list[dict[str, Any]]:
    if not isinstance(components, list) or not components:
        raise Refused(100, "components is an array that is not empty")
    types = []
    for component in components:
        if not isinstance(component, dict) or component.get("type") not in _COMPONENT_TYPES:
            raise Refused(100, f"each component has a type: {', '.join(_COMPONENT_TYPES)}")
        _check_component(component)
        types.append(component["type"])
    if len(set(types)) != len(types) or "BODY" not in types:
        raise Refused(100, "there is one BODY, and no component twice")
    return components


def _check_component(component: dict[str, Any]) -> None:
    text = component.get("text")
    needs_text = component["type"] in ("BODY", "FOOTER") or component.get("format") == "TEXT"
    if needs_text and not (isinstance(text, str) and 0 < len(text) <= BODY_LIMIT_CHARACTERS):
        raise Refused(100, f"{component['type']} has a text of 1 to {BODY_LIMIT_CHARACTERS} characters")
    if component["type"] == "HEADER" and component.get("format") not in (
        "TEXT",
        "IMAGE",
        "VIDEO",
        "DOCUMENT",
    ):
        raise Refused(100, "a HEADER has a format: TEXT, IMAGE, VIDEO or DOCUMENT")
    if component["type"] == "BUTTONS":
        _check_buttons(component.get("buttons"))


def _check_buttons(buttons: Any) -> None:
    if not isinstance(buttons, list) or not 0 < len(buttons) <= 10:
        raise Refused(100, "BUTTONS has 1 to 10 buttons")
    for button in buttons:
        if not isinstance(button, dict) or not isinstance(button.get("text"), str):
            raise Refused(100, "a button has a type and a text")
        if button.get("type") == "URL" and not isinstance(button.get("url"), str):
            raise Refused(100, "a URL button has a url")
