"""The phone numbers: the list of an account, registration, and the business profile."""

import re
from typing import Any

from drumbeat.emulator.content.envelope import parse_message
from drumbeat.emulator.errors import Refused
from drumbeat.emulator.identity import Number
from drumbeat.emulator.messaging_service import MessagingService
from drumbeat.emulator.resources.access import account_of, managed_number_of, number_of
from drumbeat.emulator.resources.paging import check_query, page, select
from drumbeat.emulator.wire.request_reply import Reply, Request, json_reply

_PIN = re.compile(r"[0-9]{6}", re.ASCII)
_EMAIL = re.compile(r"[^@\s]+@[^@\s.]+(\.[^@\s.]+)+")
# The lines of business that a profile may name (open point).
VERTICALS = (
    "UNDEFINED", "OTHER", "AUTO", "BEAUTY", "APPAREL", "EDU", "ENTERTAIN", "EVENT_PLAN", "FINANCE", "GROCERY",
    "GOVT", "HOTEL", "HEALTH", "NONPROFIT", "PROF_SERVICES", "RETAIL", "TRAVEL", "RESTAURANT", "NOT_A_BIZ",
)  # fmt: skip

# Fields of a profile with the most characters each may have; `websites` is an array of up to two addresses.
PROFILE_LIMITS_CHARACTERS = {
    "about": 139,
    "address": 256,
    "description": 512,
    "email": 128,
    "profile_picture_handle": 2048,
    "vertical": 64,
}
WEBSITES_LIMIT = 2
WEBSITE_LIMIT_CHARACTERS = 256


class NumberEndpoints:
    """The endpoints `/{account}/phone_numbers`, `/{number}/register` and the business profile."""

    def __init__(self, service: MessagingService) -> None:
        self._service = service

    def list(self, request: Request) -> Reply:
        """List the numbers of an account, in the order they were registered."""
        account = account_of(self._service, request)
        check_query(request)
        numbers = self._service.numbers.values()
        records = [number_record(number) for number in numbers if number.account_id == account.id]
        return page(request, records, self._service.base_url)

    def send_elsewhere(self, request: Request) -> Reply:
        """Refuse a send to an id that is no number. A send to a known number never comes here."""
        number_of(self._service, request)
        raise Refused(33, f"object with id {request.variables['id']} cannot send")

    def register(self, request: Request) -> Reply:
        """Register a number: `{"messaging_product", "pin"}`. The first PIN becomes the number's; later ones
        must equal it.
        """
        number = managed_number_of(self._service, request)
        content = parse_message(request.body, self._service.config.product)
        pin = content.get("pin")
        if not (isinstance(pin, str) and _PIN.fullmatch(pin)):
            raise Refused(100, "pin is 6 digits")
        if number.pin is not None and number.pin != pin:
            raise Refused(133005, "this is not the PIN the number was registered with")
        number.pin, number.status = pin, "CONNECTED"
        return json_reply({"success": True})

    def show_profile(self, request: Request) -> Reply:
        """Show the profile, with the fields asked for."""
        number = managed_number_of(self._service, request)
        profile = {"messaging_product": self._service.config.product, **number.profile}
        fields = request.query.get("fields")
        return json_reply({"data": [select(profile, f"{fields},messaging_product" if fields else None)]})

    def update_profile(self, request: Request) -> Reply:
        """Update any of the profile's fields. Those not named stay."""
        number = managed_number_of(self._service, request)
        content = parse_message(request.body, self._service.config.product)
        changes = {name: content[name] for name in PROFILE_LIMITS_CHARACTERS if name in content}
        for name, value in changes.items():
            _check_text(name, value, PROFILE_LIMITS_CHARACTERS[name])
        _check_form(changes)
        if "websites" in content:
            changes["websites"] = _websites(content["websites"])
        number.profile.update(changes)
        return json_reply({"success": True})


def _check_text(name: str, value: Any, limit: int) -> None:
    if not isinstance(value, str) or len(value) > limit:
        raise Refused(100, f"{name} is a text of up to {limit} characters")


def _check_form(changes: dict[str, Any]) -> None:
    """Check the changes of a profile. An empty text removes the member."""
    if changes.get("email") and not _EMAIL.fullmatch(changes["email"]):
        raise Refused(100, "email is an address such as shop@lantern.example")
    if changes.get("vertical") and changes["vertical"] not in VERTICALS:
        raise Refused(100, f"vertical is one of {', '.join(VERTICALS)}")


def _websites(value: Any) -> list[str]:
    if not isinstance(value, list) or len(value) > WEBSITES_LIMIT:
        raise Refused(100, f"websites is an array of up to {WEBSITES_LIMIT} addresses")
    for each in value:
        _check_text("websites[]", each, WEBSITE_LIMIT_CHARACTERS)
    return value


def number_record(number: Number) -> dict[str, Any]:
    """Return a number as the list shows it (field names are open points)."""
    return {
        "id": number.id,
        "display_phone_number": number.display_phone_number,
        "verified_name": number.verified_name,
        "quality_rating": number.quality_rating,
        "messaging_limit_tier": number.tier_shown,
        "status": number.status,
        "throughput": {"level": number.throughput_level},
    }
