"""The ledger: every message the service ever accepted, in order, never changed.

It is the judge of "never twice, never lost", so it is written at acceptance and by nothing else. Columns of
plain arrays keep a message at 24 bytes plus its note (tag and content as JSON, some 100 bytes for a template
of two variables): ten million messages take about 1.3 GiB.
"""

import base64
import os
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import orjson

# A segment is filled in place and then left alone, so no append ever moves more than a segment's bytes.
SEGMENT_MESSAGES = 16_384
# Past these the service answers 131016 until it is reset: it never forgets and never swaps.
LEDGER_LIMIT_MESSAGES = 20_000_000
LEDGER_LIMIT_NOTE_BYTES = 4 * 1024**3

WAMID_PREFIX = "wamid.HBgM"


class Call(NamedTuple):
    """What many messages have in common, kept once: through which number goes what."""

    number_id: str
    kind: str
    template: str | None = None
    language: str | None = None


class _Segment:
    __slots__ = ("calls", "note_ends", "notes", "received_ns", "recipients")

    def __init__(self) -> None:
        self.calls = array("I")
        self.recipients = array("Q")
        self.received_ns = array("Q")
        self.note_ends = array("I")
        self.notes = bytearray()

    def dump(self) -> dict[str, str]:
        """The columns as base64."""
        return {name: base64.b64encode(bytes(getattr(self, name))).decode() for name in self.__slots__}

    @classmethod
    def load(cls, state: dict[str, str]) -> "_Segment":
        """The reverse of `dump`; ValueError for columns that do not fit together."""
        segment = cls()
        for name in cls.__slots__:
            column = getattr(segment, name)
            content = base64.b64decode(state[name])
            column.extend(content) if isinstance(column, bytearray) else column.frombytes(content)
        rows = {len(getattr(segment, name)) for name in cls.__slots__ if name != "notes"}
        if len(rows) != 1 or not 0 < len(segment.calls) <= SEGMENT_MESSAGES:
            raise ValueError("columns of the ledger differ in length")
        if segment.note_ends[-1] != len(segment.notes):
            raise ValueError("notes of the ledger are cut")
        return segment

    def note(self, place: int) -> bytes:
        begins = self.note_ends[place - 1] if place else 0
        return bytes(self.notes[begins : self.note_ends[place]])


class Ledger:
    """Accepted messages, counted from 0. `full` once a documented limit is reached, within a segment."""

    def __init__(self, limit_messages: int = LEDGER_LIMIT_MESSAGES) -> None:
        self._segments: list[_Segment] = []
        self._calls: list[Call] = []
        self._places: dict[Call, int] = {}
        self._accepted = 0
        self._note_bytes = 0
        self._limit_messages = limit_messages
        self.full = False
        # A new ledger issues ids that no other ledger ever issued, also not one of the same seed, nor the one
        # that it was restored from: what that one issued after its snapshot are other messages.
        self.issue = _new_issue()
        self._issued_from = 0
        # (first index, beginning) of the ids that came with a snapshot, in order
        self._older_issues: list[tuple[int, str]] = []

    def __len__(self) -> int:
        return self._accepted

    def place_of(self, call: Call) -> int:
        """Where a call is kept."""
        place = self._places.get(call)
        if place is None:
            place = self._places[call] = len(self._calls)
            self._calls.append(call)
        return place

    def append(self, call: int, recipient: int, received_ns: int, note: bytes) -> int:
        """Record a message; `call` is the place of its call. Returns its index."""
        index = self._accepted
        if index % SEGMENT_MESSAGES == 0:
            self._begin_segment()
        segment = self._segments[-1]
        segment.calls.append(call)
        segment.recipients.append(recipient)
        segment.received_ns.append(received_ns)
        notes = segment.notes
        notes += note
        segment.note_ends.append(len(notes))
        self._accepted = index + 1
        return index

    def _begin_segment(self) -> None:
        if self._segments:
            self._note_bytes += len(self._segments[-1].notes)
        self._segments.append(_Segment())
        self._look_if_full()

    def _look_if_full(self) -> None:
        """Whether the present segment is the last: a further one might go beyond the limit."""
        begins = max(0, len(self._segments) - 1) * SEGMENT_MESSAGES
        several = begins + SEGMENT_MESSAGES > self._limit_messages
        self.full = several or self._note_bytes >= LEDGER_LIMIT_NOTE_BYTES

    def wamid(self, index: int) -> str:
        """The id under which the message at `index` was accepted."""
        issue = self.issue if index >= self._issued_from else self._older_issue(index)
        return "%s%012X" % (issue, index)  # noqa: UP031  # twice as fast as an f-string's format

    def _older_issue(self, index: int) -> str:
        return next(issue for first, issue in reversed(self._older_issues) if first <= index)

    def index_of(self, wamid: str) -> int | None:
        """The place of a message by its id; None for an id this ledger did not issue."""
        try:
            index = int(wamid[-12:], 16)
        except ValueError:
            return None
        return index if 0 <= index < self._accepted and self.wamid(index) == wamid else None

    def recipient(self, index: int) -> int:
        """To whom a message went, the digits as a number."""
        segment, place = self._at(index)
        return segment.recipients[place]

    def call(self, index: int) -> Call:
        """Through which number the message at `index` went, and as what."""
        segment, place = self._at(index)
        return self._calls[segment.calls[place]]

    def tag(self, index: int) -> str | None:
        """The opaque data that came with a message."""
        segment, place = self._at(index)
        note = segment.note(place)
        if note.startswith(b'["'):
            # Without a backslash it ends at the first quote: a status need not read the content.
            written = note[2 : note.index(b'"', 2)]
            if b"\\" not in written:
                return written.decode()
        tag: str | None = orjson.loads(note)[0]
        return tag

    def row(self, index: int) -> dict[str, Any]:
        """One message as the control plane shows it."""
        segment, place = self._at(index)
        tag, content = orjson.loads(segment.note(place))
        call = self._calls[segment.calls[place]]
        return {
            "index": index,
            "wamid": self.wamid(index),
            "phone_number_id": call.number_id,
            "to": str(segment.recipients[place]),
            "type": call.kind,
            "template": call.template,
            "language": call.language,
            "tag": tag,
            "received_at_ns": segment.received_ns[place],
            "parameters" if call.template else "content": content,
        }

    def count(self, number_id: str, begin_ns: int, end_ns: int) -> int:
        """How many messages of a number were accepted from `begin_ns` up to `end_ns`."""
        places = [place for place, call in enumerate(self._calls) if call.number_id == number_id]
        return sum(
            int(segment.calls[first:last].count(place))
            for segment, first, last in self._between(begin_ns, end_ns)
            for place in places
        )

    def parts(
        self, begin_ns: int, end_ns: int
    ) -> Iterator[list[tuple[str, int, tuple[str, str] | None, int]]]:
        """(number, recipient, template, when) of the messages of a time, a segment at a time."""
        for segment, first, last in self._between(begin_ns, end_ns):
            part = []
            for place in range(first, last):
                call = self._calls[segment.calls[place]]
                recipient, received_ns = segment.recipients[place], segment.received_ns[place]
                part.append((call.number_id, recipient, _template(call), received_ns))
            yield part

    def _between(self, begin_ns: int, end_ns: int) -> Iterator[tuple[_Segment, int, int]]:
        """Segments with the places that lie in a time; arrivals never go back, so halving finds them."""
        for segment in self._segments:
            first = bisect_left(segment.received_ns, begin_ns)
            last = bisect_left(segment.received_ns, end_ns)
            if first < last:
                yield segment, first, last

    def rows(self, after: int, limit: int) -> Iterator[dict[str, Any]]:
        """Up to `limit` messages from index `after` on (0 is the first)."""
        return (self.row(index) for index in islice(range(after, self._accepted), limit))

    def dump(self) -> dict[str, Any]:
        """The whole ledger, for a snapshot."""
        issues = [*self._older_issues, (self._issued_from, self.issue)]
        return {
            "issues": [list(issue) for issue in issues if issue[0] < self._accepted],
            "calls": [list(call) for call in self._calls],
            "segments": [segment.dump() for segment in self._segments],
        }

    def load(self, state: dict[str, Any]) -> None:
        """Take a dumped ledger's place; ValueError for one that does not fit together.

        What comes after it gets ids of its own.
        """
        self._calls = [Call(*call) for call in state["calls"]]
        self._places = {call: place for place, call in enumerate(self._calls)}
        self._segments = [_Segment.load(each) for each in state["segments"]]
        self._accepted = sum(len(segment.calls) for segment in self._segments)
        self._note_bytes = sum(len(segment.notes) for segment in self._segments[:-1])
        if any(len(segment.calls) < SEGMENT_MESSAGES for segment in self._segments[:-1]):
            raise ValueError("a segment of the ledger has a gap")
        if any(max(segment.calls) >= len(self._calls) for segment in self._segments):
            raise ValueError("a message of the ledger went through no number")
        self._older_issues = [(int(first), str(issue)) for first, issue in state["issues"]]
        if self._accepted and (not self._older_issues or self._older_issues[0][0] != 0):
            raise ValueError("messages of the ledger have no ids")
        self.issue, self._issued_from = _new_issue(), self._accepted
        self._look_if_full()

    def last_received_ns(self) -> int:
        """When the last message was accepted; 0 without any."""
        return int(self._segments[-1].received_ns[-1]) if self._accepted else 0

    def numbers(self) -> set[str]:
        """The ids of the numbers that anything went through."""
        return {call.number_id for call in self._calls}

    def _at(self, index: int) -> tuple[_Segment, int]:
        return self._segments[index // SEGMENT_MESSAGES], index % SEGMENT_MESSAGES


def _new_issue() -> str:
    return WAMID_PREFIX + os.urandom(8).hex().upper()


def _template(call: Call) -> tuple[str, str] | None:
    return (call.template, call.language or "") if call.template is not None else None
