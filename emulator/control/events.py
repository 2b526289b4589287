"""The endpoints that announce what no request of a client brings about: preferences, changes of templates,
and any event.
"""

from typing import Any

from drumbeat.emulator.content.rules import check_depth
from drumbeat.emulator.control.fields import check_members, digits, field, optional
from drumbeat.emulator.errors import Refused
from drumbeat.emulator.events.envelope import Update
from drumbeat.emulator.faults.happenings import PREFERENCES
from drumbeat.emulator.messaging_service import MessagingService
from drumbeat.emulator.naming import Naming
from drumbeat.emulator.templates.template import CATEGORIES, QUALITY_SCORES, TEMPLATE_EVENTS, Template
from drumbeat.emulator.wire.request_reply import Reply, Request, json_reply, parse_object


class EventControl:
    """The endpoints `/_emulator/events`, `/_emulator/preferences` and `/_emulator/templates/{name}/…`."""

    def __init__(self, service: MessagingService) -> None:
        self._service = service

    def announce(self, request: Request) -> Reply:
        """Announce any event: `{"field", "value", "account"?}`. `account` stands as the entry's id, and need
        not exist.
        """
        content = parse_object(request.body)
        check_members(content, "field", "value", "account")
        name, value = field(content, "field", str), field(content, "value", dict)
        account = optional(content, "account", str) or self._service.config.waba
        check_depth(value)
        self._service.events.announce(Update(account, None, name, value))
        return json_reply({"success": True})

    def prefer(self, request: Request) -> Reply:
        """Let a customer stop or resume messages in the app: `{"from" or "user_id", "value", "category"?,
        "phone_number_id"?}`.
        """
        content = parse_object(request.body)
        check_members(content, "phone_number_id", "from", "user_id", "value", "category")
        value, user_id = field(content, "value", str), optional(content, "user_id", str)
        if value not in PREFERENCES:
            raise Refused(100, f"value is one of {', '.join(PREFERENCES)}")
        category = optional(content, "category", str) or "marketing_messages"
        number_id = optional(content, "phone_number_id", str) or next(iter(self._service.numbers), "")
        if number_id not in self._service.numbers:
            raise Refused(33, f"phone number {number_id} does not exist")
        if user_id is not None and "from" not in content:
            naming = Naming(None, user_id)
        else:
            naming = self._service.people.naming(digits(content, "from"))
            naming = naming if user_id is None else naming._replace(user_id=user_id)
        self._service.incoming.prefer(self._service.numbers[number_id], naming, value, category)
        return json_reply({"success": True})

    def set_status(self, request: Request) -> Reply:
        """Decide a review, pause, disable or flag a template: `{"status", "language"?, "account"?,
        "reason"?}`.
        """
        content = parse_object(request.body)
        check_members(content, "status", "language", "account", "reason")
        event, reason = _one(content, "status", TEMPLATE_EVENTS), optional(content, "reason", str) or "NONE"
        language, account_id = (optional(content, name, str) for name in ("language", "account"))
        name = request.variables["name"]
        changed = self._service.reviewer.decide(name, language, event, reason, account_id)
        return json_reply({"success": True, "changed": changed})

    def set_category(self, request: Request) -> Reply:
        """Move a template to another category: `{"category", "language"?, "account"?, "upcoming"?}`. An
        upcoming move is only announced.
        """
        content = parse_object(request.body)
        check_members(content, "category", "language", "account", "upcoming")
        category, upcoming = _one(content, "category", CATEGORIES), optional(content, "upcoming", bool)
        found = self._found(request, content)
        for account_id, template in found:
            self._service.reviewer.recategorise(account_id, template, category, upcoming=bool(upcoming))
        return json_reply({"success": True, "changed": len(found)})

    def set_quality(self, request: Request) -> Reply:
        """Rate a template: `{"score", "language"?, "account"?}`."""
        content = parse_object(request.body)
        check_members(content, "score", "language", "account")
        score, found = _one(content, "score", QUALITY_SCORES), self._found(request, content)
        for account_id, template in found:
            self._service.reviewer.rate(account_id, template, score)
        return json_reply({"success": True, "changed": len(found)})

    def _found(self, request: Request, content: dict[str, Any]) -> list[tuple[str, Template]]:
        language, account_id = (optional(content, name, str) for name in ("language", "account"))
        return self._service.reviewer.find(request.variables["name"], language, account_id)


def _one(content: dict[str, Any], name: str, words: tuple[str, ...]) -> str:
    word = field(content, name, str)
    if word not in words:
        raise Refused(100, f"{name} is one of {', '.join(words)}")
    return word
