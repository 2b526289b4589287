"""The faults of a request to send: each changes the exchange between a client and the service.

A fault has a stage. READ applies when the head of a request has arrived, before its body is read; ACCEPT
before the message is accepted; REPLY when it is in the ledger; ANSWER to every reply.
"""

import math
import random
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

import orjson

from drumbeat.emulator.config import JITTER_LIMIT
from drumbeat.emulator.errors import KINDS, Refused
from drumbeat.emulator.faults.options import Options, flag_of, number_of, one_of, whole_of
from drumbeat.emulator.identity import QUALITY_RATINGS
from drumbeat.emulator.wire.request_reply import JSON_TYPE, Reply, json_reply, render
from drumbeat.http_server.replies import Ending


class ExchangeStage(Enum):
    """The stage at which a fault applies."""

    READ = "read"
    ACCEPT = "accept"
    REPLY = "reply"
    ANSWER = "answer"


@dataclass(slots=True)
class Exchange:
    """One request and its reply. A fault changes the bytes, the time and the end that the client gets.

    If `reply` is set before acceptance, the message is not accepted. Nor is it with `refused`, the error to
    answer with. `chunk_bytes`: the reply goes out in pieces of this size with `pause_s` between them.
    `fails_with`: the code of the `failed` status that an accepted message gets. `happenings`: what else
    happens if it is accepted; see `faults.happenings`.
    """

    number_id: str
    reply: bytes | None = None
    refused: Refused | None = None
    delay_s: float = 0.0
    chunk_bytes: int = 0
    pause_s: float = 0.0
    quality: str | None = None
    fails_with: int | None = None
    ending: Ending = Ending.KEEP
    happenings: list[Any] = field(default_factory=list)


class ExchangeEffect(Protocol):
    """The effect of a fault on an exchange. `chance` is the fault's own stream."""

    @property
    def stage(self) -> ExchangeStage:
        """Return the stage at which it applies."""
        ...

    def apply(self, exchange: Exchange, chance: random.Random, /) -> None:
        """Change the exchange."""
        ...


@dataclass(frozen=True, slots=True)
class LostReply:
    """The fault "lost reply": the message is accepted, but the connection ends without a reply."""

    stage: ExchangeStage = ExchangeStage.REPLY

    def apply(self, exchange: Exchange, _chance: random.Random, /) -> None:
        """End the connection without a reply."""
        exchange.reply, exchange.ending = b"", Ending.CLOSE


@dataclass(frozen=True, slots=True)
class Reset:
    """The fault "reset": the connection is reset."""

    stage: ExchangeStage

    def apply(self, exchange: Exchange, _chance: random.Random, /) -> None:
        """End the connection with RST, without a reply."""
        exchange.reply, exchange.ending = b"", Ending.RESET


@dataclass(frozen=True, slots=True)
class ServerError:
    """The fault of a proxy: a reply without an error code, empty or a page. At REPLY the message is
    accepted.
    """

    status: int
    stage: ExchangeStage
    with_body: bool

    def apply(self, exchange: Exchange, _chance: random.Random, /) -> None:
        """Replace the reply."""
        page = b"<html><body><h1>The server is busy</h1></body></html>" if self.with_body else b""
        exchange.reply = render(Reply(self.status, page, "text/html" if page else JSON_TYPE))


@dataclass(frozen=True, slots=True)
class Latency:
    """The delay of the reply: by a fixed time, or by a lognormal one around a median."""

    median_s: float
    sigma: float
    stage: ExchangeStage = ExchangeStage.ANSWER

    def apply(self, exchange: Exchange, chance: random.Random, /) -> None:
        """Delay the reply."""
        spread = math.exp(chance.gauss(0.0, self.sigma)) if self.sigma else 1.0
        exchange.delay_s += self.median_s * spread


@dataclass(frozen=True, slots=True)
class SlowBytes:
    """The reply in slow pieces: `chunk_bytes`, a pause, the next chunk."""

    chunk_bytes: int
    pause_s: float
    stage: ExchangeStage = ExchangeStage.ANSWER

    def apply(self, exchange: Exchange, _chance: random.Random, /) -> None:
        """Send the reply in pieces."""
        exchange.chunk_bytes, exchange.pause_s = self.chunk_bytes, self.pause_s


@dataclass(frozen=True, slots=True)
class Refusal:
    """The refusal by the service with an error code: throttling, or any other."""

    code: int
    status: int
    headers: tuple[tuple[str, str], ...] = ()
    extra: tuple[tuple[str, object], ...] = ()
    stage: ExchangeStage = ExchangeStage.ACCEPT

    def apply(self, exchange: Exchange, _chance: random.Random, /) -> None:
        """Answer with the error in place of acceptance."""
        exchange.refused = Refused(self.code, "a fault that was configured", self.status)
        exchange.refused.headers = self.headers
        exchange.refused.extra = self.extra


@dataclass(frozen=True, slots=True)
class MessageStatus:
    """The reply with another `message_status`, such as held. With an empty word it has none."""

    word: str
    stage: ExchangeStage = ExchangeStage.REPLY

    def apply(self, exchange: Exchange, _chance: random.Random, /) -> None:
        """Set another `message_status`."""
        _, _, body = (exchange.reply or b"").partition(b"\r\n\r\n")
        if b'"message_status"' not in body:
            return
        content = orjson.loads(body)
        content["messages"][0]["message_status"] = self.word
        if not self.word:
            del content["messages"][0]["message_status"]
        exchange.reply = render(json_reply(content))


@dataclass(frozen=True, slots=True)
class QualityLoss:
    """The loss of quality: the rating of the number changes, and is announced. The message is not
    affected.
    """

    rating: str
    stage: ExchangeStage = ExchangeStage.ACCEPT

    def apply(self, exchange: Exchange, _chance: random.Random, /) -> None:
        """Set another rating."""
        exchange.quality = self.rating


@dataclass(frozen=True, slots=True)
class FailedStatus:
    """The failure after acceptance: the message is accepted, and a `failed` status with an error code
    follows.
    """

    code: int
    stage: ExchangeStage = ExchangeStage.ACCEPT

    def apply(self, exchange: Exchange, _chance: random.Random, /) -> None:
        """Set another status after `sent`."""
        exchange.fails_with = self.code


def server_error(options: Options) -> ServerError:
    """Return the fault. Options with defaults: `status` (503), `body` (no), `accepted` (no)."""
    status = whole_of(options, "status", 503, 300, 599)
    stage = ExchangeStage.REPLY if flag_of(options, "accepted") else ExchangeStage.ACCEPT
    return ServerError(status, stage, flag_of(options, "body"))


def latency(options: Options) -> Latency:
    """Return the fault. Options with defaults: `median_ms` (100), `sigma` (0: fixed)."""
    median_ms = number_of(options, "median_ms", 100, 0, 86_400_000)
    return Latency(median_ms / 1000, number_of(options, "sigma", 0, 0, JITTER_LIMIT))


def slow_bytes(options: Options) -> SlowBytes:
    """Return the fault. Options with defaults: `chunk_bytes` (16), `pause_ms` (50)."""
    pause_ms = number_of(options, "pause_ms", 50, 0, 3_600_000)
    return SlowBytes(whole_of(options, "chunk_bytes", 16, 1, 1_000_000), pause_ms / 1000)


def refusal(options: Options) -> Refusal:
    """Return the fault. Options with defaults: `code` (131016), `status` (the code's own), `retry_after_s`,
    `regain_minutes`, `is_transient` and `error_subcode` (none).
    """
    code = whole_of(options, "code", 131016, 0, 2**31 - 1)
    usual = KINDS[code].status if code in KINDS else 400
    extra: list[tuple[str, object]] = []
    if "is_transient" in options:
        extra.append(("is_transient", flag_of(options, "is_transient")))
    if "error_subcode" in options:
        extra.append(("error_subcode", whole_of(options, "error_subcode", 0, 0, 2**31 - 1)))
    return Refusal(code, whole_of(options, "status", usual, 400, 599), _waits(options), tuple(extra))


def throttle_storm(options: Options) -> Refusal:
    """Return the fault, with code 130429. Options with defaults: `status` (400), `retry_after_s` and
    `regain_minutes` (none).
    """
    return refusal({**options, "code": 130429})


def message_status(options: Options) -> MessageStatus:
    """Return the fault. Option with default: `word` (held_for_quality_assessment); an empty one leaves the
    field out.
    """
    return MessageStatus(str(options.get("word", "held_for_quality_assessment")))


def failed_status(options: Options) -> FailedStatus:
    """Return the fault. Option with default: `code` (131031)."""
    return FailedStatus(whole_of(options, "code", 131031, 1, 2**31 - 1))


def quality_loss(options: Options) -> QualityLoss:
    """Return the fault. Option with default: `rating` (RED)."""
    return QualityLoss(one_of(options, "rating", "RED", QUALITY_RATINGS))


def _waits(options: Options) -> tuple[tuple[str, str], ...]:
    """Return the headers that say when to try again (open point)."""
    headers = []
    if "retry_after_s" in options:
        headers.append(("Retry-After", str(whole_of(options, "retry_after_s", 0, 0, 86_400))))
    if "regain_minutes" in options:
        usage = {
            "type": "messaging",
            "call_count": 100,
            "estimated_time_to_regain_access": whole_of(options, "regain_minutes", 0, 0, 1_440),
        }
        headers.append(("X-Business-Use-Case-Usage", orjson.dumps({"0": [usage]}).decode()))
    return tuple(headers)
