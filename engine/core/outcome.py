"""The outcomes: the results of one attempt.

Law: if the service may have accepted a message, the outcome is `Accepted` or `Unknown`. Every other outcome
means that the service certainly did not accept it. An outcome is not a status (what the service reports
later) and not a state (derived from both).
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class Scope(StrEnum):
    """The scope of a refusal. The flow stops only that; everything else continues."""

    RECIPIENT = "recipient"
    PAIR = "pair"
    TEMPLATE = "template"
    NUMBER = "number"
    ACCOUNT = "account"


class Accepted(NamedTuple):
    """An acceptance: the service gave the message an id. `held`: the service holds it for a quality check.

    A tuple, because nearly every message creates one and a frozen dataclass takes twice the time.
    """

    wamid: str
    held: bool = False


@dataclass(frozen=True, slots=True)
class Throttled:
    """A refusal because the number, pair or account sends too fast. Only throttles of a pair are counted.

    `wait_s` is the wait that the service asked for, if it did.
    """

    scope: Scope
    code: int | None
    wait_s: float | None
    detail: str


@dataclass(frozen=True, slots=True)
class Transient:
    """A failure of its own that the service reports. Another attempt may work; the number of attempts is
    limited.

    `wait_s` is the wait that the service asked for, if it did.
    """

    code: int | None
    detail: str
    wait_s: float | None = None


@dataclass(frozen=True, slots=True)
class Rejected:
    """A refusal. The same request would be refused again.

    `name` is the code as text, or `http_<status>` if the reply has no code. Scope RECIPIENT fails the
    recipient. TEMPLATE, NUMBER and ACCOUNT stop the campaign, the number or the account, and only defer the
    recipient. `systematic`: several in a row mean that the campaign is at fault, not its recipients.
    `suppress`: the recipient has opted out. `suspend`: the number stops for `wait_s`, then resumes by itself.
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
    """An attempt in doubt: bytes were written and no complete reply came back. The service may have accepted
    the message.
    """

    reason: str


@dataclass(frozen=True, slots=True)
class NotSent:
    """An attempt without a byte written. `unreachable`: the service could not be reached, so a wait may help.

    `exhausted`: this machine had no file descriptor left for a connection, which says nothing about the
    service.
    """

    reason: str
    unreachable: bool = False
    exhausted: bool = False


Setback = Throttled | Transient | Rejected | Unknown | NotSent
"""Every outcome after which `engine.core.retry` decides about the recipient."""

Outcome = Accepted | Setback
