"""The faults after which something else happens: a customer writes or opts out, a template or an account
changes. Each happens when a message has been accepted, and is announced at once.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

from drumbeat.emulator.faults.exchange import Exchange, ExchangeStage
from drumbeat.emulator.faults.options import Options, flag_of, one_of
from drumbeat.emulator.identity import Number
from drumbeat.emulator.naming import NAMINGS
from drumbeat.emulator.templates.template import CATEGORIES, QUALITY_SCORES, TEMPLATE_EVENTS

PREFERENCES = ("stop", "resume")
REPLY_TYPES = ("text", "button", "interactive")
QUOTES = ("none", "sent", "other")


class Accepted(NamedTuple):
    """A message that was accepted. `template` is its name and language, or None."""

    number: Number
    recipient: int
    wamid: str
    template: tuple[str, str] | None


class World(Protocol):
    """What can happen after a message. `sender` is a word of `NAMINGS`. With another `account`, what happens
    is announced as of that one, and nothing changes here.
    """

    def write(self, accepted: Accepted, sender: str, message: dict[str, Any], /) -> None:
        """Let the recipient write in."""
        ...

    def prefer(self, accepted: Accepted, sender: str, value: str, /) -> None:
        """Let the recipient stop or resume marketing."""
        ...

    def change_number(self, accepted: Accepted, new: str, /) -> None:
        """Give the recipient a new number."""
        ...

    def tell_account(self, accepted: Accepted, account: str | None, event: str, /) -> None:
        """Announce an event of the account."""
        ...

    def review_account(self, accepted: Accepted, account: str | None, decision: str, /) -> None:
        """Announce the review of the account."""
        ...

    def change_template(self, accepted: Accepted, account: str | None, event: str, /) -> None:
        """Bring an event of the template."""
        ...

    def rate_template(self, accepted: Accepted, score: str, /) -> None:
        """Set the quality of the template."""
        ...

    def recategorise(self, accepted: Accepted, category: str, /, *, upcoming: bool) -> None:
        """Set the category of the template, or announce one to come."""
        ...

    def set_tier(self, accepted: Accepted, word: str, event: str, /) -> None:
        """Set the messaging limit of the number."""
        ...

    def unsubscribe(self, accepted: Accepted, /) -> None:
        """End the events of the account for the first app."""
        ...


Happening: TypeAlias = Callable[[World, Accepted], None]


@dataclass(frozen=True, slots=True)
class Happens:
    """The effect that lets something happen if the message is accepted."""

    happening: Happening
    stage: ExchangeStage = ExchangeStage.ACCEPT

    def apply(self, exchange: Exchange, _chance: random.Random, /) -> None:
        """Note what happens."""
        exchange.happenings.append(self.happening)


def other_id(wamid: str) -> str:
    """Return an id that the send did not return, as some services quote it."""
    return "wamid.ZZ" + wamid.removeprefix("wamid.")


def reply(options: Options) -> Happens:
    """Let the recipient answer. Options with defaults: `text` (STOP), `type` (text), `sender` (phone),
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
        world.write(accepted, how, message)

    return Happens(happen)


def preference(options: Options) -> Happens:
    """Let the recipient stop or resume marketing in the app. Options with defaults: `value` (stop),
    `sender` (phone).
    """
    value = one_of(options, "value", PREFERENCES[0], PREFERENCES)
    how = one_of(options, "sender", "phone", NAMINGS)
    return Happens(lambda world, accepted: world.prefer(accepted, how, value))


def number_change(options: Options) -> Happens:
    """Give the recipient a new number. Option: `to` (the digits plus one)."""
    to = options.get("to")
    if to is not None and not (str(to).isascii() and str(to).isdigit()):
        raise ValueError(f"to is the digits of a phone number, not {to!r}")
    return Happens(lambda world, accepted: world.change_number(accepted, str(to or accepted.recipient + 1)))


def account_event(options: Options) -> Happens:
    """Announce an event of the account, or of another `account`. Option with default: `event`
    (DISABLED_UPDATE).
    """
    event, account = str(options.get("event", "DISABLED_UPDATE")), _account(options)
    return Happens(lambda world, accepted: world.tell_account(accepted, account, event))


def account_review(options: Options) -> Happens:
    """Announce the review of the account, or of another `account`. Option with default: `decision`
    (REJECTED).
    """
    decision, account = str(options.get("decision", "REJECTED")), _account(options)
    return Happens(lambda world, accepted: world.review_account(accepted, account, decision))


def template_event(options: Options) -> Happens:
    """Bring an event of the message's template. Option with default: `event` (FLAGGED). With another
    `account`, it is of a template of the same name there, and nothing changes here.
    """
    event, account = one_of(options, "event", "FLAGGED", TEMPLATE_EVENTS), _account(options)
    return Happens(lambda world, accepted: world.change_template(accepted, account, event))


def template_quality(options: Options) -> Happens:
    """Set another quality of the message's template. Option with default: `score` (RED)."""
    score = one_of(options, "score", "RED", QUALITY_SCORES)
    return Happens(lambda world, accepted: world.rate_template(accepted, score))


def template_category(options: Options) -> Happens:
    """Set another category of the message's template. Options with defaults: `category` (MARKETING),
    `upcoming` (no).
    """
    category, upcoming = one_of(options, "category", "MARKETING", CATEGORIES), flag_of(options, "upcoming")
    return Happens(lambda world, accepted: world.recategorise(accepted, category, upcoming=upcoming))


def tier_change(options: Options) -> Happens:
    """Set another messaging limit of the number, by any word. Options with defaults: `word` (TIER_2K),
    `event` (DOWNGRADE).
    """
    word, event = str(options.get("word", "TIER_2K")), str(options.get("event", "DOWNGRADE"))
    return Happens(lambda world, accepted: world.set_tier(accepted, word, event))


def subscription_loss(_options: Options) -> Happens:
    """End the events of the account for the first app."""
    return Happens(lambda world, accepted: world.unsubscribe(accepted))


def _account(options: Options) -> str | None:
    return str(options["account"]) if "account" in options else None
