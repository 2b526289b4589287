"""The check that a caller may use the object in a path. It also counts the calls."""

import orjson

from drumbeat.emulator.account import Account, CallBudget
from drumbeat.emulator.errors import Refused
from drumbeat.emulator.identity import MANAGEMENT, MESSAGING, Number, Token
from drumbeat.emulator.messaging_service import MessagingService
from drumbeat.emulator.wire.request_reply import Request


def token_of(service: MessagingService, request: Request, permission: str) -> Token:
    """Return the token of a request, with a permission. `Refused` 190 or 10."""
    token = service.tokens.find(request.headers.get(b"authorization"))
    service.tokens.check(token, permission, None)
    return token


def account_of(service: MessagingService, request: Request) -> Account:
    """Return the account in the path, for a token that may manage it. Else `Refused` 190, 10, 33, 80007."""
    token = token_of(service, request, MANAGEMENT)
    account = service.accounts.get(request.variables["id"])
    if account is None:
        raise Refused(33, f"object with id {request.variables['id']} does not exist")
    service.tokens.check(token, MANAGEMENT, account.id)
    spend_call(service, account, token)
    return account


def spend_call(service: MessagingService, account: Account, token: Token) -> None:
    """Count one management call of the token's app on an account."""
    budget = account.budgets.get(token.app_id)
    if budget is None:
        budget = account.budgets[token.app_id] = CallBudget(service.config.management_calls_per_hour)
    now_ns = service.clock.now_ns()
    try:
        budget.spend(now_ns)
    except Refused as refused:
        minutes = budget.wait_minutes(now_ns)
        usage = {"type": "management", "call_count": 100, "estimated_time_to_regain_access": minutes}
        refused.headers = (
            ("X-Business-Use-Case-Usage", orjson.dumps({account.id: [usage]}).decode()),
            ("Retry-After", str(minutes * 60)),
        )
        raise


def number_of(service: MessagingService, request: Request, permission: str = MESSAGING) -> Number:
    """Return the phone number in the path, for a token with the permission. `Refused` 190, 10 or 33."""
    token = token_of(service, request, permission)
    number = service.numbers.get(request.variables["id"])
    if number is None:
        raise Refused(33, f"object with id {request.variables['id']} does not exist")
    service.tokens.check(token, permission, number.account_id)
    return number


def managed_number_of(service: MessagingService, request: Request) -> Number:
    """Return the number for the management API: with its permission, and with a call counted. Raises the
    errors of `number_of`, or `Refused` 80007.
    """
    number = number_of(service, request, MANAGEMENT)
    spend_call(service, service.accounts[number.account_id], token_of(service, request, MANAGEMENT))
    return number
