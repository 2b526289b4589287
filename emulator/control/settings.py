"""The changes of the service while it runs: accounts, numbers, tokens, templates, the callback, the clock."""

import time
from dataclasses import replace
from typing import Any

from drumbeat.emulator.account import Account
from drumbeat.emulator.config import NumberConfig, check_callback
from drumbeat.emulator.content.rules import check_depth
from drumbeat.emulator.control.fields import check_members, field, optional
from drumbeat.emulator.errors import Refused
from drumbeat.emulator.events.subscriptions import APP_LIMIT, App
from drumbeat.emulator.identity import IDENTITY, MANAGEMENT, MESSAGING, QUALITY_RATINGS, Number, Token
from drumbeat.emulator.messaging_service import MessagingService
from drumbeat.emulator.tiers import LOWEST, limit_of
from drumbeat.emulator.wire.request_reply import Reply, Request, json_reply, parse_object

TEST_RECIPIENTS_LIMIT = 5
CLOCK_STEP_LIMIT_S = 10 * 366 * 86_400
# Codes with which an account may be locked: the service's own for accounts.
LOCKS = (0, 368, 131031, 131042)
_ACCOUNT_MEMBERS = ("id", "verified", "locked", "event", "details", "review", "subscribed")
_NUMBER_MEMBERS = (
    "id", "rate_per_s", "rate", "account", "test_recipients", "quality_rating", "messaging_limit_tier",
    "tier_word", "status", "verified_name",
)  # fmt: skip


class SettingsControl:
    """The routes that change accounts, numbers, apps, tokens, templates, the callback and the clock."""

    def __init__(self, service: MessagingService) -> None:
        self._service = service

    def health(self, _request: Request) -> Reply:
        """Show that the service is alive, and the settings that a client needs."""
        service, config = self._service, self._service.config
        return json_reply({
            "status": "ok",
            "identity": IDENTITY,
            "base_url": service.base_url,
            "version": config.version,
            "product": config.product,
            "waba": config.waba,
            "app": config.app_id,
            "accounts": list(service.accounts),
            "numbers": list(service.numbers),
            "accepted": len(service.ledger),
            "now_ns": service.clock.now_ns(),
            "unix_s": service.clock.unix_s(),
            "seed": config.seed,
            "cpu_s": time.process_time(),
        })  # fmt: skip

    def reset(self, request: Request) -> Reply:
        """Reset to the state of the start; `{"seed": N}` starts with another seed."""
        content = parse_object(request.body) if request.body else {}
        check_members(content, "seed")
        seed = optional(content, "seed", int)
        if seed is not None:
            self._service.config = _try(lambda: replace(self._service.config, seed=seed))
        self._service.reset()
        return json_reply({"success": True})

    def set_account(self, request: Request) -> Reply:
        """Change an account: `{"id", "verified"?, "locked"?, "subscribed"?}`. An unknown id opens an account.

        `event` announces an event of it, with the members of `details`; `review` the decision of its review.
        `subscribed` is whether the first app gets its events.
        """
        content = parse_object(request.body)
        check_members(content, *_ACCOUNT_MEMBERS)
        account_id, event = field(content, "id", str), optional(content, "event", str)
        verified, locked = optional(content, "verified", bool), optional(content, "locked", int)
        if locked is not None and locked not in LOCKS:
            raise Refused(100, f"locked is one of {LOCKS}")
        subscribed, details = optional(content, "subscribed", bool), optional(content, "details", dict)
        review = optional(content, "review", str)
        check_depth(details)
        account = self._service.accounts.get(account_id)
        if account is None:
            account = _try(self._service.open_account, account_id)
        if verified is not None:
            account.verified = verified
            self._let_tiers_follow(account)
        if locked is not None:
            account.locked = locked
        if subscribed is not None:
            self._service.subscriptions.let_hear(account, hears=subscribed)
        if event is not None:
            self._service.standing.announce_account(account, event, details or {})
        if review is not None:
            self._service.standing.announce_review(account, review)
        return json_reply({"success": True})

    def _let_tiers_follow(self, account: Account) -> None:
        """Adapt the messaging limits of an account's numbers. Verification of the business lifts the limit of
        250; without it no number has more.
        """
        word, event = ("TIER_1K", "UPGRADE") if account.verified else (LOWEST, "DOWNGRADE")
        for number in self._service.numbers.values():
            if number.account_id == account.id and (number.tiers.word == LOWEST) == account.verified:
                self._service.standing.set_tier(number, word, event)

    def set_app(self, request: Request) -> Reply:
        """Add an app: `{"id", "secret"}`."""
        content = parse_object(request.body)
        check_members(content, "id", "secret")
        app_id = field(content, "id", str)
        if len(self._service.subscriptions.apps) >= APP_LIMIT:
            raise Refused(100, f"at most {APP_LIMIT} apps")
        self._service.subscriptions.apps[app_id] = App(app_id, field(content, "secret", str))
        self._service.subscriptions.refresh()
        return json_reply({"success": True})

    def set_number(self, request: Request) -> Reply:
        """Change a number: `{"id", "rate_per_s"?, "account"?, "test_recipients"?, "quality_rating"?,
        "messaging_limit_tier"?, "tier_word"?, "status"?, "verified_name"?}`. An unknown id registers a
        number. A known one keeps what is not named. `tier_word` is any word, which lists and events show in
        place of the limit's own.
        """
        content = parse_object(request.body)
        check_members(content, *_NUMBER_MEMBERS)
        number_id = field(content, "id", str)
        rate_per_s = content.get("rate_per_s", content.get("rate"))
        words = {name: optional(content, name, str) for name in ("status", "verified_name")}
        testers = _test_recipients(content.get("test_recipients"))
        tier, rating = _standing(content)
        tier_word = optional(content, "tier_word", str)
        number = self._service.numbers.get(number_id)
        self._check_tier(tier, number.account_id if number else content.get("account"))
        if number is None:
            number = self._new_number(number_id, content, 80 if rate_per_s is None else rate_per_s)
        elif rate_per_s is not None:
            _try(number.window.set_rate, _try(float, rate_per_s))
        for name, word in words.items():
            if word is not None:
                setattr(number, name, word)
        if "test_recipients" in content:
            number.test_recipients = testers
        if tier is not None and tier != number.tiers.word:
            self._service.standing.set_tier(number, tier, "ONBOARDING")
        if "tier_word" in content:
            self._service.standing.set_word(number, tier_word, "DOWNGRADE")
        if rating is not None and rating != number.quality_rating:
            self._service.standing.set_quality(number, rating)
        return json_reply({"success": True, "rate_per_s": number.window.rate_per_s})

    def _check_tier(self, tier: str | None, account_id: Any) -> None:
        account = self._service.accounts.get(str(account_id or self._service.config.waba))
        if account is not None and not account.verified and tier not in (None, LOWEST):
            raise Refused(100, f"the account {account.id} is not verified, so its numbers have {LOWEST}")

    def _new_number(self, number_id: str, content: dict[str, Any], rate_per_s: Any) -> Number:
        account_id = optional(content, "account", str) or self._service.config.waba
        if account_id not in self._service.accounts:
            raise Refused(33, f"account {account_id} does not exist")
        config = _try(lambda: NumberConfig(number_id, float(rate_per_s)))
        number: Number = _try(self._service.add_number, account_id, config)
        return number

    def set_token(self, request: Request) -> Reply:
        """Put a token in force: `{"value", "expires_in_s"?, "permissions"?, "accounts"?, "app"?}`. `{"value",
        "revoked": true}` makes it invalid.
        """
        content = parse_object(request.body)
        check_members(content, "value", "expires_in_s", "permissions", "accounts", "app", "revoked")
        value = field(content, "value", str)
        if not value or not value.isascii() or not value.isprintable():
            raise Refused(100, "value is a text of ASCII characters")
        if content.get("revoked"):
            return json_reply({"success": self._service.tokens.revoke(value)})
        lifetime_s = optional(content, "expires_in_s", int)
        accounts = optional(content, "accounts", list)
        token = Token(
            value,
            permissions=_permissions(content.get("permissions")),
            accounts=None if accounts is None else frozenset(map(str, accounts)),
            expires_at_s=None if lifetime_s is None else self._service.clock.unix_s() + lifetime_s,
            app_id=optional(content, "app", str) or self._service.config.app_id,
        )
        _try(self._service.tokens.add, token)
        return json_reply({"success": True})

    def set_callback(self, request: Request) -> Reply:
        """Set the first app's subscriber from now on: `{"url"}`, or null for none."""
        content = parse_object(request.body)
        check_members(content, "url")
        url = optional(content, "url", str)
        if url is not None:
            _try(check_callback, url)
        self._service.subscriptions.set_callback(url)
        return json_reply({"success": True})

    def set_statuses(self, request: Request) -> Reply:
        """Turn statuses on or off for messages that are accepted from now on: `{"on": bool}`."""
        content = parse_object(request.body)
        check_members(content, "on")
        self._service.subscriptions.turn_statuses(on=field(content, "on", bool))
        return json_reply({"success": True})

    def advance_clock(self, request: Request) -> Reply:
        """Advance the clock: `{"seconds"}`. Everything that is due by then has happened when the
        reply comes.
        """
        content = parse_object(request.body)
        check_members(content, "seconds")
        seconds = content.get("seconds")
        if isinstance(seconds, bool) or not isinstance(seconds, int | float):
            raise Refused(100, "seconds is a number")
        if not 0 <= seconds <= CLOCK_STEP_LIMIT_S:
            raise Refused(100, f"seconds is a number from 0 to {CLOCK_STEP_LIMIT_S}")
        self._service.clock.advance(float(seconds))
        self._service.do_what_is_due()
        return json_reply({"success": True, "unix_s": self._service.clock.unix_s()})


def _try(action: Any, *arguments: Any) -> Any:
    """Return the result of the action. An invalid value is error 100."""
    try:
        return action(*arguments)
    except (TypeError, ValueError, OverflowError) as error:
        raise Refused(100, str(error)) from None


def _standing(content: dict[str, Any]) -> tuple[str | None, str | None]:
    """Return the messaging limit and the quality that a command names."""
    tier, rating = (optional(content, name, str) for name in ("messaging_limit_tier", "quality_rating"))
    if tier is not None:
        _try(limit_of, tier)
    if rating is not None and rating not in QUALITY_RATINGS:
        raise Refused(100, f"quality_rating is one of {', '.join(QUALITY_RATINGS)}")
    return tier, rating


def _test_recipients(value: Any) -> frozenset[int] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(each, str) and _is_number(each) for each in value):
        raise Refused(100, "test_recipients is an array of digits")
    if len(value) > TEST_RECIPIENTS_LIMIT:
        raise Refused(100, f"a test number has up to {TEST_RECIPIENTS_LIMIT} recipients")
    return frozenset(map(int, value))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 15


def _permissions(value: Any) -> frozenset[str]:
    """Return the permissions without the product's word: messaging, management."""
    if value is None:
        return frozenset({MESSAGING, MANAGEMENT})
    known = {"messaging": MESSAGING, "management": MANAGEMENT}
    if not isinstance(value, list) or not all(isinstance(each, str) and each in known for each in value):
        raise Refused(100, "permissions is an array of messaging and management")
    return frozenset(known[each] for each in value)
