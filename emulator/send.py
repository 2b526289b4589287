"""The send endpoint of one number: the path that takes the traffic.

The rules of the interface are checked in one order: the token, the number's pace, the shape of the message,
the template or the customer's window, whether the recipient can be reached, the pair's pace. Only a message
that passes all of them is counted, and it is in the ledger before its reply exists.
"""

from dataclasses import dataclass
from typing import Any

import orjson

from drumbeat.emulator.account import Account
from drumbeat.emulator.clock import SECOND_NS, Clock
from drumbeat.emulator.content.envelope import check_context, parse_message, read_envelope
from drumbeat.emulator.content.rules import check_depth
from drumbeat.emulator.content.table import check_content
from drumbeat.emulator.errors import Refused
from drumbeat.emulator.identity import MESSAGING, Number, Token
from drumbeat.emulator.incoming import IncomingMessages
from drumbeat.emulator.ledger.kinds import MessageKind
from drumbeat.emulator.ledger.ledger import Ledger
from drumbeat.emulator.media import MediaStore
from drumbeat.emulator.people import People
from drumbeat.emulator.refusals import Refusals
from drumbeat.emulator.schedule import StatusSchedule
from drumbeat.emulator.standing import Standing
from drumbeat.emulator.templates.fill import beside_body, fill
from drumbeat.emulator.tokens import Tokens

WINDOW_NS = 24 * 3600 * SECOND_NS


@dataclass(frozen=True, slots=True)
class SendContext:
    """The state that the send endpoints of all numbers share. `product` is the word in
    `messaging_product`.
    """

    product: str
    clock: Clock
    tokens: Tokens
    people: People
    media: MediaStore
    ledger: Ledger
    schedule: StatusSchedule
    incoming: IncomingMessages
    standing: Standing
    refusals: Refusals


class SendEndpoint:
    """The endpoint that sends through one number. It looks everything up beforehand, because it takes all the
    traffic.
    """

    __slots__ = (
        "_account", "_bearers", "_clock", "_context", "_kinds", "_kinds_by_template", "_media", "_messages",
        "_own", "_people", "_product", "_reply", "_reply_bytes", "_schedule", "_templates", "_unlimited",
        "number",
    )  # fmt: skip

    def __init__(self, context: SendContext, number: Number, account: Account) -> None:
        self._context = context
        self._clock = context.clock
        self._bearers = context.tokens.bearers
        self._unlimited = context.tokens.unlimited
        self._account = account
        self._templates = account.book.by_key
        self._media = context.media
        self._people = context.people
        self._messages = context.ledger.messages
        self._kinds = context.ledger.kinds
        self._schedule = context.schedule
        self._product = context.product
        # template id -> index of its kind in the ledger
        self._kinds_by_template: dict[str, int] = {}
        self._reply, self._reply_bytes = _reply_format(context.product, context.ledger.ids.prefix)
        self._own = int(number.display_phone_number)
        self.number = number

    def answer(self, authorization: bytes | None, body: bytes, fails_with: int | None = None) -> bytes:
        """Return the whole reply, as bytes on the wire, to a POST with this body. `fails_with`: see
        `Exchange`.
        """
        try:
            return self._accept(authorization, body, fails_with)
        except Refused as refused:
            self.number.errors[refused.code] += 1
            return self._context.refusals.render(refused)

    def _accept(self, authorization: bytes | None, body: bytes, fails_with: int | None) -> bytes:
        now_ns = self._clock.now_ns()
        if authorization not in self._unlimited:
            self._check_token(self._bearers.get(authorization))  # type: ignore[arg-type]  # None is no key
        number = self.number
        if self._account.locked or number.status != "CONNECTED":
            self._check_standing()
        if number.window.full(now_ns):
            raise Refused(130429, f"{number.id} may send {number.window.rate_per_s:g} messages per second")
        message = parse_message(body, self._product)
        if "status" in message:
            return self._context.incoming.mark_read(number, message)
        to, recipient, tag = read_envelope(message)
        kind, content = self._content(message, recipient, now_ns)
        note = orjson.dumps((tag, content))
        # The last check: it counts the pair and the messaging limit, so nothing below may refuse.
        self._check_recipient(recipient, now_ns)
        index = self._messages.append(kind, recipient, now_ns, note)
        number.window.count(now_ns)
        number.accepted += 1
        if self._schedule.wanted:
            self._schedule.plan(index, recipient, now_ns, fails_with)
        elif fails_with:
            self._schedule.failing.add(index)
        wa_id = to if self._people.all_plain else self._people.wa_id(recipient)
        return (self._reply % (self._reply_bytes + len(to) + len(wa_id), to, wa_id, index)).encode()

    def _content(self, message: dict[str, Any], recipient: int, now_ns: int) -> tuple[int, Any]:
        """Return the index of the kind in the ledger, and the content as the ledger keeps it."""
        message_type = message.get("type")
        if "context" in message:
            check_context(message["context"])
        if message_type == "template":
            return self._template(message.get("template"))
        if message_type is None:
            raise Refused(131008, "type is required")
        content = check_content(message_type, message, self._media)
        check_depth(content)
        self._check_window(recipient, now_ns)
        return self._kinds.index_of(MessageKind(self.number.id, message_type)), content

    def _template(self, asked: Any) -> tuple[int, Any]:
        try:
            template = self._templates.get((asked["name"], asked["language"]["code"]))
            components = asked.get("components")
        except (KeyError, TypeError, AttributeError):
            template, components = None, None
        if template is None or template.status != "APPROVED":
            raise self._unsendable(asked)
        kind = self._kinds_by_template.get(template.id)
        if kind is None:
            kind = self._kinds_by_template[template.id] = self._kinds.index_of(
                MessageKind(self.number.id, "template", template.name, template.language)
            )
        values = fill(template, components, self._media)
        if components and (len(components) > 1 or not template.body_alone):
            return kind, {"body": values, "components": beside_body(components)}
        return kind, values

    def _unsendable(self, asked: Any) -> Refused:
        """Return the refusal of a template: its name, its language or the template itself is wrong."""
        language = asked.get("language") if isinstance(asked, dict) else None
        if not isinstance(language, dict) or "name" not in asked or "code" not in language:
            return Refused(131008, "template.name and template.language.code are required")
        name, code = asked["name"], language["code"]
        if not (isinstance(name, str) and isinstance(code, str)):
            return Refused(131009, "template.name and template.language.code are strings")
        return self._account.book.refusal(name, code)

    def _check_token(self, token: Token | None) -> None:
        if token is None:
            raise Refused(190, "the access token is missing or not valid")
        self._context.tokens.check(token, MESSAGING, self.number.account_id)

    def _check_recipient(self, recipient: int, now_ns: int) -> None:
        """Refuse if a rule forbids this recipient now. Otherwise count the pair and the messaging limit."""
        number = self.number
        if recipient == self._own:
            raise Refused(131021, "a number cannot write to itself")
        if not self._people.all_plain or number.test_recipients is not None:
            self._check_reachable(recipient)
        if self._messages.full:
            raise Refused(131016, "the ledger is full; POST /_emulator/reset empties it")
        begun = number.tiers.limited and not self._window_open(recipient, now_ns)
        if begun:
            self._check_tier(recipient, now_ns)
        if not number.pair.admit(recipient, now_ns):
            raise Refused(131056, f"{number.id} writes to this recipient too often")
        if begun:
            number.tiers.count(recipient, now_ns)

    def _check_reachable(self, recipient: int) -> None:
        allowed = self.number.test_recipients
        if allowed is not None and recipient not in allowed:
            raise Refused(131030, "the recipient is not one of this test number's verified recipients")
        if not self._people.reachable(recipient):
            raise Refused(131026, "the recipient is not on the network or has blocked the business")

    def _check_window(self, recipient: int, now_ns: int) -> None:
        if not self._window_open(recipient, now_ns):
            raise Refused(
                131047, "more than 24 hours have passed since the customer last wrote; send a template"
            )

    def _window_open(self, recipient: int, now_ns: int) -> bool:
        wrote_ns = self.number.windows.get(recipient)
        return wrote_ns is not None and now_ns - wrote_ns < WINDOW_NS

    def _check_standing(self) -> None:
        if self._account.locked:
            raise Refused(self._account.locked, "this account may not send")
        raise Refused(133010, f"the number is not registered, its status is {self.number.status}")

    def _check_tier(self, recipient: int, now_ns: int) -> None:
        """Check the messaging limit for messages that the business begins. The limit may have grown
        by now.
        """
        number = self.number
        word = number.tiers.earned(now_ns, verified=self._account.verified)
        if word is not None and number.quality_rating != "RED":
            self._context.standing.set_tier(number, word, "UPGRADE")
        number.tiers.check(recipient, now_ns)


def _reply_format(product: str, id_prefix: str) -> tuple[str, int]:
    """Return a format for the body's length, `to`, wa_id and index, and that length without `to` and
    wa_id.
    """
    body = (
        f'{{"messaging_product":"{product}","contacts":[{{"input":"%s","wa_id":"%s"}}],'
        f'"messages":[{{"id":"{id_prefix}%012X","message_status":"accepted"}}]}}'
    )
    head = "HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=UTF-8\r\nContent-Length: %d\r\n\r\n"
    return head + body, len(body % ("", "", 0))
