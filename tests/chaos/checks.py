"""What must hold after a run, judged only by the ledger and the store. Pure: evidence in, findings out."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tests.chaos.message import Message, Owner
from tests.chaos.pace import Stamps, Written, crowded_seconds

CALM_STATES = frozenset(("accepted", "sent", "delivered", "read", "failed", "skipped", "unknown"))
REACHED_STATES = frozenset(("accepted", "sent", "delivered", "read"))

Key = tuple[int, int]
AttemptKey = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Recipient:
    range_id: int
    seq: int
    state: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that is known after a run. `written_s`: the sender's wall time of each recorded write, by wamid. `clocks`: by
    which clock each owner wrote, where they are several.

    `range_counters` and `recount`: recipients by range and state. `ever_in_doubt`: attempts that were in doubt at some
    time.
    `events_dropped`: the faults kept events away. `failures_reported`: the service was made to report
    accepted messages as failed. `resend_declared`: recipients in doubt may get the message again.
    """

    recipients: int
    ledger: Sequence[Message]
    states: Sequence[Recipient]
    wamids: frozenset[str]
    written_s: dict[str, float]
    range_counters: dict[int, Counter[str]]
    recount: dict[int, Counter[str]]
    unknown_max: int = 0
    unknown_bound: int = 1 << 30
    limits_per_s: dict[str, float] = field(default_factory=dict)
    clocks: Mapping[Owner, str] = field(default_factory=dict)
    events_dropped: bool = False
    failures_reported: bool = False
    resend_declared: bool = False
    ever_in_doubt: frozenset[AttemptKey] = frozenset()
    settled: bool = False


def findings(evidence: Evidence) -> list[str]:
    """Every promise that the evidence shows broken, one line each; empty if all hold."""
    return [
        *_twice(evidence),
        *_states(evidence),
        *_unknowns(evidence),
        *_names(evidence),
        *_epochs(evidence.ledger),
        *_pace(evidence),
        *_failed(evidence),
        *(_forgotten(evidence) if evidence.settled else ()),
    ]


def _reached(evidence: Evidence) -> Counter[Key]:
    return Counter((tag.range_id, tag.seq) for tag in (message.read_tag for message in evidence.ledger))


def _twice(evidence: Evidence) -> Iterable[str]:
    """No recipient gets two messages, except by a declared resend after an attempt that was in doubt."""
    attempt_nos: dict[Key, list[int]] = {}
    for tag in (message.read_tag for message in evidence.ledger):
        attempt_nos.setdefault((tag.range_id, tag.seq), []).append(tag.attempt_no)
    twice = [key for key, each in attempt_nos.items() if len(each) > 1]
    if twice and not evidence.resend_declared:
        yield f"sent twice: {len(twice)}, such as {twice[0]}"
    never_in_doubt = [
        key
        for key in twice
        for attempt_no in sorted(attempt_nos[key])[:-1]
        if (*key, attempt_no) not in evidence.ever_in_doubt
    ]
    if never_in_doubt:
        yield f"sent again without being in doubt: {len(never_in_doubt)}, such as {never_in_doubt[0]}"


def _states(evidence: Evidence) -> Iterable[str]:
    keys = Counter((recipient.range_id, recipient.seq) for recipient in evidence.states)
    if len(keys) != evidence.recipients or max(keys.values(), default=1) > 1:
        yield f"{evidence.recipients} recipients, {len(keys)} of them with a state, {keys.total()} states"
    if evidence.range_counters != evidence.recount:
        yield "the range counters differ from a recount"
    waiting = Counter(recipient.state for recipient in evidence.states if recipient.state not in CALM_STATES)
    if waiting:
        yield f"left behind by a finished campaign: {dict(waiting)}"


def _unknowns(evidence: Evidence) -> Iterable[str]:
    if evidence.unknown_max > evidence.unknown_bound:
        yield f"{evidence.unknown_max} in doubt, above the bound of {evidence.unknown_bound}"
    reached = _reached(evidence)
    unknown = [recipient for recipient in evidence.states if recipient.state == "unknown"]
    accepted = [recipient for recipient in unknown if reached[recipient.range_id, recipient.seq]]
    if accepted and not evidence.events_dropped:
        yield f"accepted and still in doubt after all events: {len(accepted)}"
    if unknown and evidence.settled:
        yield f"in doubt after settling: {len(unknown)}"


def _names(evidence: Evidence) -> Iterable[str]:
    nameless = [
        message
        for message in evidence.ledger
        if message.wamid not in evidence.wamids
        and not (evidence.events_dropped and _attempt_of(message) in evidence.ever_in_doubt)
    ]
    if nameless:
        yield f"accepted messages that the store does not name: {len(nameless)}"
    reached = _reached(evidence)
    invented = [
        recipient
        for recipient in evidence.states
        if recipient.state in REACHED_STATES and not reached[recipient.range_id, recipient.seq]
    ]
    if invented:
        yield f"called accepted and not in the ledger: {len(invented)}"


def _epochs(ledger: Sequence[Message]) -> Iterable[str]:
    highest: dict[str, int] = {}
    fallen = 0
    for message in ledger:
        epoch = message.read_tag.epoch
        fallen += epoch < highest.get(message.phone_number_id, 0)
        highest[message.phone_number_id] = max(epoch, highest.get(message.phone_number_id, 0))
    if fallen:
        yield f"messages of a former owner after its successor's first: {fallen}"


def crowded(evidence: Evidence) -> dict[str, list[tuple[Written, Written]]]:
    """Return each second of a number that holds more messages than its limit, by number."""
    stamps = Stamps(evidence.written_s, evidence.clocks)
    return crowded_seconds(evidence.ledger, stamps, evidence.limits_per_s)


def _pace(evidence: Evidence) -> Iterable[str]:
    for number, seconds in crowded(evidence).items():
        limit = int(evidence.limits_per_s[number])
        yield f"number {number}: {len(seconds)} messages above its limit of {limit} in a second"


def _failed(evidence: Evidence) -> Iterable[str]:
    """No fault of the bench fails a recipient: only the service may report a failure."""
    reached = _reached(evidence)
    failed = [recipient for recipient in evidence.states if recipient.state == "failed"]
    given_up = [
        recipient
        for recipient in failed
        if not (evidence.failures_reported and reached[recipient.range_id, recipient.seq])
    ]
    if given_up:
        yield f"failed for a fault that passed: {len(given_up)}"


def _attempt_of(message: Message) -> AttemptKey:
    tag = message.read_tag
    return tag.range_id, tag.seq, tag.attempt_no


def _forgotten(evidence: Evidence) -> Iterable[str]:
    reached = _reached(evidence)
    forgotten = [
        recipient
        for recipient in evidence.states
        if not reached[recipient.range_id, recipient.seq] and recipient.state not in ("failed", "skipped")
    ]
    if forgotten:
        yield f"forgotten: {len(forgotten)}"
