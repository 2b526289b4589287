"""The records that a body is parsed into. They are tuples, because one body may hold a thousand."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, NamedTuple, TypeAlias

# The columns of a tag.
TagColumns: TypeAlias = tuple[str | None, int | None, int | None, int | None, int | None]
NO_TAG: TagColumns = (None, None, None, None, None)
# Opaque data that is no tag of any installation: another program sent the message.
FOREIGN: TagColumns = ("", None, None, None, None)


# The values of a StatusEvent, without names. Thousands arrive each second, and a plain tuple takes a quarter
# of the time to build.
StatusRow: TypeAlias = tuple[
    str,
    int,
    int,
    str | None,
    str | None,
    str | None,
    int | None,
    int | None,
    int | None,
    int | None,
    int | None,
    str | None,
]
PHONE_NUMBER_ID: Final = 3  # their positions in a row
RECIPIENT: Final = 4
INSTALLATION: Final = 5
RANGE_ID: Final = 6
SEQ: Final = 7


class StatusEvent(NamedTuple):
    """One status of one message: interface, field `messages`, `statuses[]`.

    `status_us`: the service's time, in microseconds since 1970. `installation` to `epoch`: a tag, ours or
    another installation's, else NO_TAG or FOREIGN. `code`, `detail`: why, when failed (open point).
    """

    wamid: str
    status: int  # a rank of engine.core.states.EvidenceRank
    status_us: int
    phone_number_id: str | None
    recipient: str | None
    installation: str | None
    range_id: int | None
    seq: int | None
    attempt_no: int | None
    epoch: int | None
    code: int | None
    detail: str | None


class IncomingMessage(NamedTuple):
    """One message of a customer: `messages[]`. `body`: the whole of it, as JSON."""

    wamid: str
    phone_number_id: str | None
    sender: str
    type: str
    sent_at: datetime
    body: str


class TemplateKey(NamedTuple):
    """Which template an event is about."""

    name: str
    language: str


class TemplateStatus(NamedTuple):
    """Field `message_template_status_update`. `event`: APPROVED, REJECTED, PAUSED, PENDING, DISABLED."""

    name: str
    language: str
    event: str
    reason: str | None


class AccountEvent(NamedTuple):
    """Any other change, `value` as JSON: always an object.

    `occurred_at`: the entry's own time, if given. `subject`: what the event is about. It tells a later event
    about the same subject from a repetition of this one.
    """

    field: str
    value: str
    subject: str
    occurred_at: datetime | None


class Unreadable(NamedTuple):
    """A part of a signed body that could not be read: kept, with the problem in words."""

    part: bytes
    problem: str


@dataclass(slots=True)
class Parsed:
    """Everything that the bodies held. Nothing is lost: what cannot be read is in `unreadable`.

    `opted_out`: the statuses which say that their recipient stopped marketing messages (131050).
    """

    statuses: list[StatusRow] = field(default_factory=list)
    messages: list[IncomingMessage] = field(default_factory=list)
    account: list[AccountEvent] = field(default_factory=list)
    unreadable: list[Unreadable] = field(default_factory=list)
    opted_out: list[StatusRow] = field(default_factory=list)

    @property
    def events(self) -> int:
        return len(self.statuses) + len(self.messages) + len(self.account) + len(self.unreadable)
