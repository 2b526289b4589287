"""The records that a body is parsed into. They are tuples, because one body may hold a thousand."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, NamedTuple, TypeAlias

from drumbeat.engine.core.event_origin import Origin

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
    int | None,
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
    `pricing`: see engine/core/pricing.py.
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
    pricing: int | None = None


class IncomingMessage(NamedTuple):
    """One message of a customer: `messages[]`. `body`: the whole of it, as JSON."""

    wamid: str
    phone_number_id: str | None
    sender: str
    type: str
    sent_at: datetime
    body: str


class OptOutEvent(NamedTuple):
    """A fact that the service tells of a person beside their messages; the fields of `opt_out_events`.

    `kind`: refused, stop, resume or changed. `installation`: of the tag that `range_id` and `seq` come from.
    `matches_tried`: 0, or more for an event that is not to be counted if its person cannot be found.
    """

    event_key: str
    kind: str
    phone: int | None
    wamid: str | None
    range_id: int | None
    seq: int | None
    installation: str | None
    category: str | None
    new_phone: int | None
    occurred_at: datetime
    matches_tried: int = 0


class TemplateKey(NamedTuple):
    """Which template an event is about."""

    name: str
    language: str


class TemplateStatus(NamedTuple):
    """Field `message_template_status_update`. `event`: a word, see engine/core/template_events.py."""

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


class Foreign(NamedTuple):
    """Where a change came from that is not ours."""

    origin: Origin
    account: str | None
    number: str | None


class Unreadable(NamedTuple):
    """A part of a signed body that could not be read: kept, with the problem in words.

    `phone_number_id`: the part can be read, but its number is not known.
    """

    part: bytes
    problem: str
    phone_number_id: str | None = None


@dataclass(slots=True)
class Parsed:
    """Everything that the bodies held. Nothing is lost: what cannot be read is in `unreadable`.

    `opt_outs`: what the service says of people. `opted_out`: the statuses which say that their recipient
    stopped marketing messages (131050). `foreign`: where each change came from that is not ours.
    """

    statuses: list[StatusRow] = field(default_factory=list)
    messages: list[IncomingMessage] = field(default_factory=list)
    account: list[AccountEvent] = field(default_factory=list)
    unreadable: list[Unreadable] = field(default_factory=list)
    opted_out: list[StatusRow] = field(default_factory=list)
    opt_outs: list[OptOutEvent] = field(default_factory=list)
    foreign: list[Foreign] = field(default_factory=list)

    @property
    def events(self) -> int:
        kept = len(self.statuses) + len(self.messages) + len(self.account) + len(self.unreadable)
        return kept + len(self.opt_outs) + len(self.foreign)

    def halves(self) -> "tuple[Parsed, Parsed] | None":
        """Return the events in two parts, first each list by itself; None if there is only one event."""
        lists: list[list[Any]] = [
            self.statuses, self.messages, self.account, self.unreadable, self.opted_out, self.opt_outs
        ]  # fmt: skip
        filled = [at for at, found in enumerate(lists) if found]
        if len(filled) > 1:
            cuts = [len(found) if at == filled[0] else 0 for at, found in enumerate(lists)]
        else:
            cuts = [len(found) // 2 for found in lists]
        first = [found[:cut] for found, cut in zip(lists, cuts, strict=True)]
        rest = [found[cut:] for found, cut in zip(lists, cuts, strict=True)]
        return (_parsed(first), _parsed(rest)) if any(first) else None


def _parsed(lists: list[list[Any]]) -> Parsed:
    statuses, messages, account, unreadable, opted_out, opt_outs = lists
    return Parsed(statuses, messages, account, unreadable, opted_out, opt_outs)
