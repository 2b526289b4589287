"""The columns of the ledger, in segments.

Plain arrays keep a message at 24 bytes plus its note (tag and content as JSON, some 100 bytes for a template
of two variables): ten million messages take about 1.3 GiB.
"""

import base64
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from typing import Any, NamedTuple

# A segment is filled in place and then left alone, so no append ever moves more than a segment's bytes.
SEGMENT_MESSAGES = 16_384
# At these limits the service answers 131016 until a reset. It never forgets a message and never swaps.
LEDGER_LIMIT_MESSAGES = 20_000_000
LEDGER_LIMIT_NOTE_BYTES = 4 * 1024**3


class StoredMessage(NamedTuple):
    """One message as it is stored; `kind` is an index of `Kinds`."""

    kind: int
    recipient: int
    received_ns: int


class Segment:
    """The columns of up to SEGMENT_MESSAGES messages; `note_ends` are offsets in `notes`."""

    __slots__ = ("kinds", "note_ends", "notes", "received_ns", "recipients")

    def __init__(self) -> None:
        self.kinds = array("I")
        self.recipients = array("Q")
        self.received_ns = array("Q")
        self.note_ends = array("I")
        self.notes = bytearray()

    def row(self, offset: int) -> StoredMessage:
        """Return a message of this segment."""
        return StoredMessage(self.kinds[offset], self.recipients[offset], self.received_ns[offset])

    def note(self, offset: int) -> bytes:
        """Return tag and content of a message, as JSON."""
        begins = self.note_ends[offset - 1] if offset else 0
        return bytes(self.notes[begins : self.note_ends[offset]])

    def dump(self) -> dict[str, str]:
        """Return the columns as base64."""
        return {name: base64.b64encode(bytes(getattr(self, name))).decode() for name in self.__slots__}

    @classmethod
    def load(cls, state: dict[str, str]) -> "Segment":
        """Return a segment from a dumped one. ValueError if the columns do not fit together."""
        segment = cls()
        for name in cls.__slots__:
            column = getattr(segment, name)
            content = base64.b64decode(state[name])
            column.extend(content) if isinstance(column, bytearray) else column.frombytes(content)
        lengths = {len(getattr(segment, name)) for name in cls.__slots__ if name != "notes"}
        if len(lengths) != 1 or not 0 < len(segment.kinds) <= SEGMENT_MESSAGES:
            raise ValueError("columns of the ledger differ in length")
        if segment.note_ends[-1] != len(segment.notes):
            raise ValueError("notes of the ledger are cut")
        return segment


class Slice(NamedTuple):
    """The messages from `first` up to `end` of a segment."""

    segment: Segment
    first: int
    end: int


class Segments:
    """The columns of all messages, counted from 0. `full`: a limit is reached, to within a segment."""

    def __init__(self, limit_messages: int) -> None:
        self.full = False
        self._segments: list[Segment] = []
        self._messages = 0
        self._note_bytes = 0  # of the segments before the last one
        self._limit_messages = limit_messages

    def __len__(self) -> int:
        return self._messages

    def append(self, kind: int, recipient: int, received_ns: int, note: bytes) -> int:
        """Store a message; returns its index."""
        index = self._messages
        if index % SEGMENT_MESSAGES == 0:
            self._begin_segment()
        segment = self._segments[-1]
        segment.kinds.append(kind)
        segment.recipients.append(recipient)
        segment.received_ns.append(received_ns)
        notes = segment.notes
        notes += note
        segment.note_ends.append(len(notes))
        self._messages = index + 1
        return index

    def kind(self, index: int) -> int:
        """Return the index of a message's kind."""
        return self._segments[index // SEGMENT_MESSAGES].kinds[index % SEGMENT_MESSAGES]

    def recipient(self, index: int) -> int:
        """Return the recipient of a message, its digits as a number."""
        return self._segments[index // SEGMENT_MESSAGES].recipients[index % SEGMENT_MESSAGES]

    def row(self, index: int) -> StoredMessage:
        """Return one message without its note."""
        return self._segments[index // SEGMENT_MESSAGES].row(index % SEGMENT_MESSAGES)

    def note(self, index: int) -> bytes:
        """Return tag and content of one message, as JSON."""
        return self._segments[index // SEGMENT_MESSAGES].note(index % SEGMENT_MESSAGES)

    def between(self, begin_ns: int, end_ns: int) -> Iterator[Slice]:
        """Yield the messages received from `begin_ns` up to `end_ns`. Times never decrease, so bisection
        works.
        """
        for segment in self._segments:
            first = bisect_left(segment.received_ns, begin_ns)
            end = bisect_left(segment.received_ns, end_ns)
            if first < end:
                yield Slice(segment, first, end)

    def last_received_ns(self) -> int:
        """Return the time when the last message was accepted, or 0 without any."""
        return int(self._segments[-1].received_ns[-1]) if self._messages else 0

    def dump(self) -> list[dict[str, str]]:
        """Return the segments for a snapshot."""
        return [segment.dump() for segment in self._segments]

    def load(self, state: list[dict[str, Any]], kinds: int) -> None:
        """Restore dumped segments. ValueError if they do not fit together or name more than `kinds`."""
        self._segments = [Segment.load(columns) for columns in state]
        self._messages = sum(len(segment.kinds) for segment in self._segments)
        self._note_bytes = sum(len(segment.notes) for segment in self._segments[:-1])
        if any(len(segment.kinds) < SEGMENT_MESSAGES for segment in self._segments[:-1]):
            raise ValueError("a segment of the ledger has a gap")
        if any(max(segment.kinds) >= kinds for segment in self._segments):
            raise ValueError("a message of the ledger went through no number")
        self._check_limits()

    def _begin_segment(self) -> None:
        if self._segments:
            self._note_bytes += len(self._segments[-1].notes)
        self._segments.append(Segment())
        self._check_limits()

    def _check_limits(self) -> None:
        """Set `full` if a further segment could exceed a limit. The present segment is then the last."""
        begins = max(0, len(self._segments) - 1) * SEGMENT_MESSAGES
        is_last = begins + SEGMENT_MESSAGES > self._limit_messages
        self.full = is_last or self._note_bytes >= LEDGER_LIMIT_NOTE_BYTES
