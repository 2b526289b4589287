"""The records that a body is parsed into. They are tuples, because one body may hold a thousand."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, NamedTuple, TypeAlias

from drumbeat.engine.core.events.origin import Origin

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
    """A status of a message: interface, field `messages`, `statuses[]`.

    `status_us` is the service's time, in microseconds since 1970. `installation` to `epoch` are a tag, ours
    or another installation's, else NO_TAG or FOREIGN. `code` and `detail` say why it failed (open point).
    `pricing` is described in engine/core/pricing.py.
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
    """A message of a customer: `messages[]`. `body` is all of it, as JSON. `user_id` is the service's id of
    the sender, if the event names it beside a phone.
    """

    wamid: str
    phone_number_id: str | None
    sender: str
    type: str
    sent_at: datetime
    body: str
    user_id: str | None = None


class PersonId(NamedTuple):
    """The service's id of a person, beside the digits of their phone, as an event of `seen_at` had them."""

    user_id: str
    phone: str
    seen_at: datetime


class OptOutEvent(NamedTuple):
    """A fact about a person that the service reports apart from their messages; the fields of
    `opt_out_events`.

    `kind` is refused, stop, resume or changed. `installation` is that of the tag from which `range_id` and
    `seq` come. `user_id` names the person if no phone does. `matches_tried` is 0, or more for an event that
    is not counted if its person cannot be found.
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
    user_id: str | None = None


class TemplateKey(NamedTuple):
    """The template that an event is about."""

    name: str
    language: str


class TemplateStatus(NamedTuple):
    """The field `message_template_status_update`. `event` is a word of engine/core/template/events.py."""

    name: str
    language: str
    event: str
    reason: str | None


class AccountEvent(NamedTuple):
    """Any other change, with `value` as JSON, which is always an object.

    `occurred_at` is the entry's own time, if given. `subject` is what the event is about. It tells a later
    event about the same subject from a repetition of this one.
    """

    field: str
    value: str
    subject: str
    occurred_at: datetime | None


class Foreign(NamedTuple):
    """The origin of a change that is not ours."""

    origin: Origin
    account: str | None
    number: str | None


class Unreadable(NamedTuple):
    """A part of a signed body that could not be read. It is kept, with the problem in words.

    If `phone_number_id` is set, the part can be read, but its number is not known.
    """

    part: bytes
    problem: str
    phone_number_id: str | None = None


@dataclass(slots=True)
class Parsed:
    """The events that the bodies held. Nothing is lost: parts that cannot be read are in `unreadable`.

    `opt_outs` is what the service says of people. `opted_out` has the statuses which say that their recipient
    stopped marketing messages (131050). `foreign` has the origin of each change that is not ours. `people`
    are those whom a change without their message names by phone and by id.
    """

    statuses: list[StatusRow] = field(default_factory=list)
    messages: list[IncomingMessage] = field(default_factory=list)
    account: list[AccountEvent] = field(default_factory=list)
    unreadable: list[Unreadable] = field(default_factory=list)
    opted_out: list[StatusRow] = field(default_factory=list)
    opt_outs: list[OptOutEvent] = field(default_factory=list)
    foreign: list[Foreign] = field(default_factory=list)
    people: list[PersonId] = field(default_factory=list)

    @property
    def events(self) -> int:
        kept = len(self.statuses) + len(self.messages) + len(self.account) + len(self.unreadable)
        return kept + len(self.opt_outs) + len(self.foreign)

    def halves(self) -> "tuple[Parsed, Parsed] | None":
        """Return the events in two parts, first each list by itself; None if there is only one event."""
        lists: list[list[Any]] = [
            self.statuses, self.messages, self.account, self.unreadable, self.opted_out, self.opt_outs,
            self.people,
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
    statuses, messages, account, unreadable, opted_out, opt_outs, people = lists
    return Parsed(statuses, messages, account, unreadable, opted_out, opt_outs, people=people)
