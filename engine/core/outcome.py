"""What one attempt told us. Law: a request that may have been accepted is never called anything but
`Accepted` or `Unknown`; every other outcome means that the recipient certainly was not accepted.

An outcome is not a status (what the service says later) and not a state (ours, derived from both).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class Scope(StrEnum):
    """Whom a refusal concerns. The flow stops that one and lets everything else go on."""

    RECIPIENT = "recipient"
    PAIR = "pair"
    TEMPLATE = "template"
    NUMBER = "number"
    ACCOUNT = "account"


class Accepted(NamedTuple):
    """The service took the message and named it. `held`: it keeps it back for a quality check.

    A tuple, since nearly every message makes one: a frozen dataclass takes twice the time.
    """

    wamid: str
    held: bool = False


@dataclass(frozen=True, slots=True)
class Throttled:
    """Refused for pace, by number, pair or account. Spends no budget of attempts, except the pair's own.

    `wait_s` is the service's own word on when to come back, where it gave one.
    """

    scope: Scope
    code: int | None
    wait_s: float | None
    detail: str


@dataclass(frozen=True, slots=True)
class Transient:
    """The service failed and says so: worth another attempt, a bounded number of times.

    `wait_s` as of Throttled.
    """

    code: int | None
    detail: str
    wait_s: float | None = None


@dataclass(frozen=True, slots=True)
class Rejected:
    """Refused for a reason that the same request would meet again.

    `name` is the code as text, or `http_<status>` where the reply carried none. Scope RECIPIENT fails the
    recipient; TEMPLATE, NUMBER and ACCOUNT stop the campaign, the number or the account and only defer the
    recipient, whom nobody accepted. Flags: `systematic`, several in a row point at the campaign, not at its
    recipients; `suppress`, the recipient opted out; `suspend`, the number rests for `wait_s` and
    returns by itself.
    """

    scope: Scope
    code: int | None
    name: str
    detail: str
    wait_s: float | None = None
    systematic: bool = False
    suppress: bool = False
    suspend: bool = False


@dataclass(frozen=True, slots=True)
class Unknown:
    """Bytes were written and no reply tells what became of them: it may have been accepted."""

    reason: str


@dataclass(frozen=True, slots=True)
class NotSent:
    """No byte was written. `unreachable`: the service could not be reached, so waiting makes sense.
    `exhausted`: this machine had no descriptor left for a connection, which tells nothing about the service.
    """

    reason: str
    unreachable: bool = False
    exhausted: bool = False


Setback = Throttled | Transient | Rejected | Unknown | NotSent
"""What leaves something to decide about the recipient; see `engine.core.retry`."""

Outcome = Accepted | Setback
