"""The values of the web page, in one reply."""

from typing import Any

from drumbeat.emulator.messaging_service import MessagingService

LAST_MESSAGES = 12


def overview(service: MessagingService) -> dict[str, Any]:
    """Return accounts, numbers with their present rate, the last messages as on a phone, events and
    faults.
    """
    first = max(0, len(service.ledger) - LAST_MESSAGES)
    return {
        "product": service.config.product,
        "version": service.config.version,
        "unix_s": service.clock.unix_s(),
        "skipped_s": round(service.clock.skipped_s, 3),
        "accepted": len(service.ledger),
        "statuses_on": service.subscriptions.statuses_on,
        "accounts": [
            {
                "id": account.id,
                "name": account.name,
                "templates": [
                    {"name": each.name, "language": each.language, "status": each.status}
                    for each in account.book
                ],
            }
            for account in service.accounts.values()
        ],
        "numbers": [_number(service, number_id) for number_id in service.numbers],
        "messages": [_bubble(service, row) for row in service.ledger.rows(first, LAST_MESSAGES)][::-1],
        "events": service.events.summary(),
        "faults": [fault.record() for fault in service.faults],
    }


def _number(service: MessagingService, number_id: str) -> dict[str, Any]:
    number = service.numbers[number_id]
    return {
        "id": number.id,
        "account_id": number.account_id,
        "display_phone_number": number.display_phone_number,
        "quality_rating": number.quality_rating,
        "messaging_limit_tier": number.tier_shown,
        "status": number.status,
        "rate_per_s": number.window.rate_per_s,
        "in_window": number.window.in_window(service.clock.now_ns()),
        "accepted": number.accepted,
        "errors": {str(code): count for code, count in number.errors.most_common(5)},
    }


def _bubble(service: MessagingService, row: dict[str, Any]) -> dict[str, Any]:
    """Return a message with the text as a phone shows it."""
    shown = {name: row[name] for name in ("wamid", "phone_number_id", "to", "type", "template", "language")}
    at_s = service.clock.unix_s(row["received_at_ns"])
    if row["template"] is None:
        return {
            **shown,
            "at_s": at_s,
            "header": "",
            "body": _free_form(row["content"]),
            "footer": "",
            "buttons": [],
        }
    number = service.numbers[row["phone_number_id"]]
    template = service.accounts[number.account_id].book.get(row["template"], row["language"])
    return {**shown, "at_s": at_s, **(template.bubble(row["parameters"]) if template else _DELETED)}


_DELETED = {"header": "", "body": "(the template was deleted)", "footer": "", "buttons": []}


def _free_form(content: Any) -> str:
    """Return the words of a free-form message: its text, its caption, or the kind of thing that it is."""
    if isinstance(content, list):
        return ", ".join(str(card["name"]["formatted_name"]) for card in content)
    body = content.get("body")
    words = body.get("text") if isinstance(body, dict) else body
    return str(words or content.get("caption") or content.get("emoji") or content.get("name") or "")
