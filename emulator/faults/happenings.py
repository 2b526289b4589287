"""The faults after which something else happens: a customer writes or opts out, a template or an account
changes. Each happens when a message has been accepted, and is announced at once.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

from drumbeat.emulator.account import Account
from drumbeat.emulator.events.envelope import ACCOUNT_REVIEW, ACCOUNT_UPDATE, Update
from drumbeat.emulator.faults.exchange import Exchange, ExchangeStage
from drumbeat.emulator.faults.options import Options, flag_of, one_of
from drumbeat.emulator.identity import Number
from drumbeat.emulator.incoming import IncomingMessages
from drumbeat.emulator.naming import NAMINGS, Naming, named
from drumbeat.emulator.people import People
from drumbeat.emulator.reviewer import QUALITY_SCORES, Reviewer
from drumbeat.emulator.standing import Standing
from drumbeat.emulator.templates.template import CATEGORIES, TEMPLATE_EVENTS, Template

PREFERENCES = ("stop", "resume")
REPLY_TYPES = ("text", "button", "interactive")
QUOTES = ("none", "sent", "other")


class Hearing(Protocol):
    """The part of the subscriptions that a fault uses."""

    def let_hear(self, account: Account, /, *, hears: bool) -> None:
        """Set whether the first app gets the events of an account."""
        ...


@dataclass(frozen=True, slots=True)
class World:
    """The parts of the service that something can happen to."""

    accounts: Mapping[str, Account]
    people: People
    incoming: IncomingMessages
    reviewer: Reviewer
    standing: Standing
    announce: Callable[[Update], None]
    subscriptions: Hearing


class Accepted(NamedTuple):
    """A message that was accepted. `template` is its name and language, or None."""

    number: Number
    recipient: int
    wamid: str
    template: tuple[str, str] | None


Happening: TypeAlias = Callable[[World, Accepted], None]


@dataclass(frozen=True, slots=True)
class Happens:
    """The effect that lets something happen if the message is accepted."""

    happening: Happening
    stage: ExchangeStage = ExchangeStage.ACCEPT

    def apply(self, exchange: Exchange, _chance: random.Random, /) -> None:
        """Note what happens."""
        exchange.happenings.append(self.happening)


def _named(world: World, accepted: Accepted, how: str) -> Naming:
    people = world.people
    return named(how, people.wa_id(accepted.recipient), people.user_id(accepted.recipient))


def other_id(wamid: str) -> str:
    """Return an id that the send did not return, as some services quote it."""
    return "wamid.ZZ" + wamid.removeprefix("wamid.")


def reply(options: Options) -> Happens:
    """The recipient answers. Options with defaults: `text` (STOP), `type` (text), `sender` (phone),
    `quote` (sent).
    """
    text = str(options.get("text", "STOP"))
    kind = one_of(options, "type", "text", REPLY_TYPES)
    how, quote = one_of(options, "sender", "phone", NAMINGS), one_of(options, "quote", "sent", QUOTES)
    contents: dict[str, dict[str, Any]] = {
        "text": {"body": text},
        "button": {"payload": text, "text": text},
        "interactive": {"type": "button_reply", "button_reply": {"id": text, "title": text}},
    }

    def happen(world: World, accepted: Accepted) -> None:
        message: dict[str, Any] = {"type": kind, kind: contents[kind]}
        if quote != "none":
            quoted = accepted.wamid if quote == "sent" else other_id(accepted.wamid)
            message["context"] = {"from": accepted.number.display_phone_number, "id": quoted}
        naming = _named(world, accepted, how)
        world.incoming.receive(accepted.number, accepted.recipient, message, "Customer", naming)

    return Happens(happen)


def preference(options: Options) -> Happens:
    """The recipient stops or resumes marketing in the app. Options with defaults: `value` (stop),
    `sender` (phone).
    """
    value = one_of(options, "value", PREFERENCES[0], PREFERENCES)
    how = one_of(options, "sender", "phone", NAMINGS)
    return Happens(
        lambda world, accepted: world.incoming.prefer(accepted.number, _named(world, accepted, how), value)
    )


def number_change(options: Options) -> Happens:
    """The recipient has a new number. Option: `to` (the digits plus one)."""
    to = options.get("to")
    if to is not None and not (str(to).isascii() and str(to).isdigit()):
        raise ValueError(f"to is the digits of a phone number, not {to!r}")

    def happen(world: World, accepted: Accepted) -> None:
        new = str(to) if to is not None else str(accepted.recipient + 1)
        world.incoming.change_number(accepted.number, accepted.recipient, new)

    return Happens(happen)


def account_event(options: Options) -> Happens:
    """An event of the account, or of another `account`. Option with default: `event` (DISABLED_UPDATE)."""
    event, account = str(options.get("event", "DISABLED_UPDATE")), options.get("account")
    return Happens(
        lambda world, accepted: world.announce(
            Update(_account(account, accepted), None, ACCOUNT_UPDATE, {"event": event})
        )
    )


def account_review(options: Options) -> Happens:
    """The review of the account, or of another `account`. Option with default: `decision` (REJECTED)."""
    decision, account = str(options.get("decision", "REJECTED")), options.get("account")
    return Happens(
        lambda world, accepted: world.announce(
            Update(_account(account, accepted), None, ACCOUNT_REVIEW, {"decision": decision})
        )
    )


def template_event(options: Options) -> Happens:
    """An event of the message's template. Option with default: `event` (FLAGGED). With another `account`,
    it is of a template of the same name there, and nothing changes here.
    """
    event, account = one_of(options, "event", "FLAGGED", TEMPLATE_EVENTS), options.get("account")

    def happen(world: World, template: Template, accepted: Accepted) -> None:
        if account is not None and str(account) != accepted.number.account_id:
            world.reviewer.announce_elsewhere(str(account), template, event)
        else:
            world.reviewer.change(accepted.number.account_id, template, event, "NONE")

    return Happens(_of_template(happen))


def template_quality(options: Options) -> Happens:
    """Another quality of the message's template. Option with default: `score` (RED)."""
    score = one_of(options, "score", "RED", QUALITY_SCORES)
    return Happens(
        _of_template(
            lambda world, template, accepted: world.reviewer.rate(accepted.number.account_id, template, score)
        )
    )


def template_category(options: Options) -> Happens:
    """Another category of the message's template. Options with defaults: `category` (MARKETING), `upcoming`
    (no).
    """
    category, upcoming = one_of(options, "category", "MARKETING", CATEGORIES), flag_of(options, "upcoming")
    return Happens(
        _of_template(
            lambda world, template, accepted: world.reviewer.recategorise(
                accepted.number.account_id, template, category, upcoming=upcoming
            )
        )
    )


def tier_change(options: Options) -> Happens:
    """Another messaging limit of the number, by any word. Options with defaults: `word` (TIER_2K), `event`
    (DOWNGRADE).
    """
    word, event = str(options.get("word", "TIER_2K")), str(options.get("event", "DOWNGRADE"))
    return Happens(lambda world, accepted: world.standing.set_word(accepted.number, word, event))


def subscription_loss(_options: Options) -> Happens:
    """The first app gets no more events of the account."""
    return Happens(
        lambda world, accepted: world.subscriptions.let_hear(
            world.accounts[accepted.number.account_id], hears=False
        )
    )


def _account(given: Any, accepted: Accepted) -> str:
    return accepted.number.account_id if given is None else str(given)


def _of_template(happen: Callable[[World, Template, Accepted], None]) -> Happening:
    """Return what happens only to a message that has a template."""

    def happening(world: World, accepted: Accepted) -> None:
        book = world.accounts[accepted.number.account_id].book
        template = book.get(*accepted.template) if accepted.template else None
        if template is not None:
            happen(world, template, accepted)

    return happening
