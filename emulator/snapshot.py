"""The whole state as one JSON document, and back: to repeat a test from one point, or to go on another day.

It contains accounts with the calls of their last hour, apps and their subscriptions, numbers with their
windows, pairs and limits, tokens, templates and reviews, customers, messages in both directions, files, the
remaining faults (their random streams begin anew), the ledger, statuses that are due later, counts, and the
clock. It does not contain updates on their way to a subscriber: they are delivered, or lost with the process.
Ids of messages are never issued twice: messages after a restore get new ids.
"""

import base64
from dataclasses import asdict, replace
from typing import Any

from drumbeat.emulator.account import Account, CallBudget
from drumbeat.emulator.clock import Clock
from drumbeat.emulator.config import FaultConfig
from drumbeat.emulator.errors import Refused
from drumbeat.emulator.events.subscriber import Subscriber
from drumbeat.emulator.events.subscriptions import App
from drumbeat.emulator.identity import Number, Token
from drumbeat.emulator.media import MediaItem
from drumbeat.emulator.messaging_service import MessagingService
from drumbeat.emulator.pace import SlidingWindow
from drumbeat.emulator.pair import PairRate
from drumbeat.emulator.templates.template import Template
from drumbeat.emulator.tiers import Tiers

FORMAT = 5
_NUMBER_FIELDS = (
    "id",
    "account_id",
    "display_phone_number",
    "verified_name",
    "quality_rating",
    "status",
    "pin",
    "tier_word",
)


def dump(service: MessagingService) -> dict[str, Any]:
    """Return the state of a service, as values that JSON can express."""
    return {
        "format": FORMAT,
        "seed": service.config.seed,
        "now_ns": service.clock.now_ns(),
        "unix_s": service.clock.unix_s(),
        "statuses_on": service.subscriptions.statuses_on,
        "next_id": service.ids.following,
        "accounts": [_dump_account(account) for account in service.accounts.values()],
        "apps": [_dump_app(app) for app in service.subscriptions.apps.values()],
        "numbers": [_dump_number(number) for number in service.numbers.values()],
        "tokens": [_dump_token(token) for token in service.tokens],
        "people": service.people.dump(),
        "incoming": service.incoming.messages,
        "reviews": service.reviewer.waiting,
        "media": [
            {**asdict(item), "content": base64.b64encode(item.content).decode()}
            for item in service.media.items()
        ],
        "faults": [fault.remaining(service.clock.now_ns()) for fault in service.faults],
        "schedule": service.schedule.dump(),
        "errors": list(service.errors.items()),
        "events": service.events.dump(),
        "deliveries": service.deliveries.dump(),
        "failing": sorted(service.schedule.failing),
        "ledger": service.ledger.dump(),
    }


def restore(service: MessagingService, state: dict[str, Any]) -> None:
    """Replace the present state by a dumped one. If that is invalid, raise `Refused` (100) and change
    nothing.
    """
    if state.get("format") != FORMAT:
        raise Refused(100, f"this is not a snapshot of format {FORMAT}")
    before = dict(vars(service))
    try:
        _load(service, state)
    except Exception as error:
        # A reset makes new objects and leaves the former ones unchanged, so they can be put back.
        vars(service).update(before)
        raise Refused(100, f"the snapshot cannot be read: {type(error).__name__} {error}") from None


def _load(service: MessagingService, state: dict[str, Any]) -> None:
    service.config = replace(service.config, seed=state["seed"])
    service.clock = Clock()
    service.clock.continue_from(state["now_ns"], state["unix_s"])
    service.reset()
    service.subscriptions.statuses_on = state["statuses_on"]
    service.ids.following = int(state["next_id"])
    service.ledger.load(state["ledger"])
    service.accounts.clear()
    service.accounts.update({each["id"]: _load_account(each) for each in state["accounts"]})
    service.subscriptions.apps.clear()
    service.subscriptions.apps.update({each["id"]: _load_app(each) for each in state["apps"]})
    service.numbers.clear()
    service.send_endpoints.clear()
    for each in state["numbers"]:
        service.connect(_load_number(each))
    _load_tokens(service, state["tokens"])
    service.people.load(state["people"])
    service.incoming.messages.update(state["incoming"])
    service.reviewer.waiting[:] = [(each[0], each[1], each[2], each[3]) for each in state["reviews"]]
    for each in state["media"]:
        service.media.add(MediaItem(**{**each, "content": base64.b64decode(each["content"])}))
    service.faults.clear()
    for each in state["faults"]:
        service.faults.add(FaultConfig(**each))
    service.schedule.load(state["schedule"])
    service.errors.update({int(code): int(count) for code, count in state["errors"]})
    service.events.load(state["events"])
    service.deliveries.load(state["deliveries"])
    service.schedule.failing.update(state["failing"])
    _check_references(service)
    service.subscriptions.refresh()


def _check_references(service: MessagingService) -> None:
    """Raise ValueError if something refers to a number or a message that does not exist."""
    strangers = service.ledger.kinds.numbers() - service.numbers.keys()
    if strangers:
        raise ValueError(f"messages went through {', '.join(sorted(strangers))}, which does not exist")
    if any(number.account_id not in service.accounts for number in service.numbers.values()):
        raise ValueError("a number is of no account")
    if service.schedule.last_message() >= len(service.ledger):
        raise ValueError("a status is of no message")
    if service.ledger.messages.last_received_ns() > service.clock.now_ns():
        raise ValueError("a message was accepted after the moment of the snapshot")


def _dump_account(account: Account) -> dict[str, Any]:
    templates = [
        {
            **template.record(),
            "reason": template.reason,
            "quality": template.quality,
            "rated_s": template.rated_s,
        }
        for template in account.book
    ]
    return {
        "id": account.id,
        "name": account.name,
        "verified": account.verified,
        "locked": account.locked,
        "subscribed_apps": sorted(account.subscribed_apps),
        "templates": templates,
        "budgets": {app_id: budget.dump() for app_id, budget in account.budgets.items()},
    }


def _load_account(state: dict[str, Any]) -> Account:
    account = Account(
        state["id"],
        state["name"],
        state["verified"],
        state["locked"],
        subscribed_apps=set(state["subscribed_apps"]),
    )
    for app_id, budget in state["budgets"].items():
        account.budgets[app_id] = CallBudget.load(budget)
    for template in state["templates"]:
        account.book.add(Template(**template))
    return account


def _dump_app(app: App) -> dict[str, Any]:
    return {
        "id": app.id,
        "secret": app.secret,
        "subscription": None if app.subscriber is None else _dump_subscriber(app.subscriber),
        "overrides": {account_id: _dump_subscriber(each) for account_id, each in app.overrides.items()},
    }


def _dump_subscriber(subscriber: Subscriber) -> list[Any]:
    return [subscriber.url, sorted(subscriber.fields), subscriber.retry_wait_s, subscriber.verify_token]


def _load_app(state: dict[str, Any]) -> App:
    app = App(state["id"], state["secret"])
    if state["subscription"] is not None:
        app.subscriber = _load_subscriber(app.secret, state["subscription"])
    for account_id, subscription in state["overrides"].items():
        app.overrides[account_id] = _load_subscriber(app.secret, subscription)
    return app


def _load_subscriber(secret: str, state: list[Any]) -> Subscriber:
    url, fields, retry_wait_s, verify_token = state
    return Subscriber(url, secret, frozenset(fields), retry_wait_s, verify_token=verify_token)


def _dump_number(number: Number) -> dict[str, Any]:
    allowed = number.test_recipients
    return {
        **{name: getattr(number, name) for name in _NUMBER_FIELDS},
        "profile": number.profile,
        "accepted": number.accepted,
        "test_recipients": None if allowed is None else sorted(allowed),
        "window": number.window.dump(),
        "pair": number.pair.dump(),
        "tiers": number.tiers.dump(),
        "windows": list(number.windows.items()),
        "errors": list(number.errors.items()),
    }


def _load_number(state: dict[str, Any]) -> Number:
    allowed = state["test_recipients"]
    number = Number(
        **{name: state[name] for name in _NUMBER_FIELDS},
        profile=state["profile"],
        accepted=state["accepted"],
        test_recipients=None if allowed is None else frozenset(allowed),
        window=SlidingWindow.load(state["window"]),
        pair=PairRate.load(state["pair"]),
        tiers=Tiers.load(state["tiers"]),
        windows=dict(state["windows"]),
    )
    number.errors.update(dict(state["errors"]))
    return number


def _dump_token(token: Token) -> dict[str, Any]:
    accounts = None if token.accounts is None else sorted(token.accounts)
    return {**asdict(token), "permissions": sorted(token.permissions), "accounts": accounts}


def _load_tokens(service: MessagingService, state: list[dict[str, Any]]) -> None:
    for token in list(service.tokens):
        service.tokens.revoke(token.value)
    for each in state:
        accounts = None if each["accounts"] is None else frozenset(each["accounts"])
        service.tokens.add(
            Token(**{**each, "permissions": frozenset(each["permissions"]), "accounts": accounts})
        )
