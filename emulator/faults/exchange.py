"""Faults of a request to send: what they do to the exchange between a client and the service.

A fault has a stage. READ strikes when the head of a request has come and before its body is looked at; ACCEPT
before the message is accepted; REPLY once it is in the ledger.
"""

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

from emulator.wire.message import JSON_TYPE, Reply, render
from emulator.wire.outcome import Ending


class Stage(Enum):
    """When a fault strikes."""

    READ = "read"
    ACCEPT = "accept"
    REPLY = "reply"
    EVENTS = "events"


@dataclass(slots=True)
class Exchange:
    """One request under way. A fault changes what the client gets: the bytes, when, and how it ends.

    `reply` set before acceptance means the message is not accepted, as does `refuse_code`, the error to
    answer with. `chunk_bytes` has the reply go out in pieces with `pause_s` between them.
    """

    number_id: str
    reply: bytes | None = None
    refuse_code: int = 0
    delay_s: float = 0.0
    chunk_bytes: int = 0
    pause_s: float = 0.0
    quality: str | None = None
    ending: Ending = Ending.KEEP


class ExchangeEffect(Protocol):
    """What a fault does to an exchange; `chance` is the fault's own stream."""

    @property
    def stage(self) -> Stage:
        """When it strikes."""
        ...

    def strike(self, exchange: Exchange, chance: random.Random, /) -> None:
        """Change the exchange."""
        ...


@dataclass(frozen=True, slots=True)
class LostReply:
    """The message is accepted and the client never hears of it: the connection ends instead."""

    stage: Stage = Stage.REPLY

    def strike(self, exchange: Exchange, _chance: random.Random, /) -> None:
        """No reply."""
        exchange.reply, exchange.ending = b"", Ending.CLOSE


@dataclass(frozen=True, slots=True)
class Reset:
    """The connection is reset."""

    stage: Stage

    def strike(self, exchange: Exchange, _chance: random.Random, /) -> None:
        """No reply, and RST."""
        exchange.reply, exchange.ending = b"", Ending.RESET


@dataclass(frozen=True, slots=True)
class ServerError:
    """A 5xx that names no error of the service: no body, or a page. REPLY: accepted all the same."""

    status: int
    stage: Stage
    with_body: bool

    def strike(self, exchange: Exchange, _chance: random.Random, /) -> None:
        """Another reply."""
        page = b"<html><body><h1>The server is busy</h1></body></html>" if self.with_body else b""
        exchange.reply = render(Reply(self.status, page, "text/html" if page else JSON_TYPE))


@dataclass(frozen=True, slots=True)
class Latency:
    """The reply comes later: by a fixed time, or by a lognormal one around a median."""

    median_s: float
    sigma: float
    stage: Stage = Stage.REPLY

    def strike(self, exchange: Exchange, chance: random.Random, /) -> None:
        """A later reply."""
        spread = math.exp(chance.gauss(0.0, self.sigma)) if self.sigma else 1.0
        exchange.delay_s += self.median_s * spread


@dataclass(frozen=True, slots=True)
class SlowBytes:
    """The reply dribbles: so many bytes, a pause, the next."""

    chunk_bytes: int
    pause_s: float
    stage: Stage = Stage.REPLY

    def strike(self, exchange: Exchange, _chance: random.Random, /) -> None:
        """A reply in pieces."""
        exchange.chunk_bytes, exchange.pause_s = self.chunk_bytes, self.pause_s


@dataclass(frozen=True, slots=True)
class Refusal:
    """The service refuses with an error of its own: a throttle storm, or any other code."""

    code: int
    stage: Stage = Stage.ACCEPT

    def strike(self, exchange: Exchange, _chance: random.Random, /) -> None:
        """The error instead of acceptance."""
        exchange.refuse_code = self.code


@dataclass(frozen=True, slots=True)
class QualityLoss:
    """The number's quality rating changes, which is announced; the message itself goes its way."""

    rating: str
    stage: Stage = Stage.ACCEPT

    def strike(self, exchange: Exchange, _chance: random.Random, /) -> None:
        """Another rating."""
        exchange.quality = self.rating


def server_error(options: Mapping[str, Any]) -> ServerError:
    """`status` (503), `body` (no), `accepted` (no)."""
    status = int(options.get("status", 503))
    if not 500 <= status <= 599:
        raise ValueError("status is from 500 to 599")
    stage = Stage.REPLY if _flag(options.get("accepted")) else Stage.ACCEPT
    return ServerError(status, stage, _flag(options.get("body")))


def latency(options: Mapping[str, Any]) -> Latency:
    """`median_ms` (100), `sigma` (0: fixed)."""
    return Latency(float(options.get("median_ms", 100)) / 1000, float(options.get("sigma", 0)))


def slow_bytes(options: Mapping[str, Any]) -> SlowBytes:
    """`chunk_bytes` (16), `pause_ms` (50)."""
    return SlowBytes(max(1, int(options.get("chunk_bytes", 16))), float(options.get("pause_ms", 50)) / 1000)


def _flag(value: Any) -> bool:
    return value is True or str(value).lower() in ("1", "true", "yes")
