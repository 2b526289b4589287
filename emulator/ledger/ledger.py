"""The ledger: every message that the service accepted, in order, never changed.

Tests judge "never twice, never lost" by it, so only the acceptance of a message writes to it.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson

from drumbeat.emulator.ledger.kinds import Kinds, MessageKind
from drumbeat.emulator.ledger.message_ids import MessageIds
from drumbeat.emulator.ledger.segments import LEDGER_LIMIT_MESSAGES, Segments


class Sent(NamedTuple):
    """The properties of a message that analytics need."""

    kind: MessageKind
    recipient: int
    received_ns: int


class Ledger:
    """The ledger of accepted messages, counted from 0. The send path writes to `messages` and `kinds`
    directly.
    """

    def __init__(self, limit_messages: int = LEDGER_LIMIT_MESSAGES) -> None:
        self.messages = Segments(limit_messages)
        self.kinds = Kinds()
        self.ids = MessageIds()

    def __len__(self) -> int:
        return len(self.messages)

    def wamid(self, index: int) -> str:
        """Return the id under which the message at `index` was accepted."""
        return self.ids.wamid(index)

    def index_of(self, wamid: str) -> int | None:
        """Return the index of a message by its id, or None for an id that this ledger did not issue."""
        return self.ids.index_of(wamid, len(self))

    def recipient(self, index: int) -> int:
        """Return the recipient of a message, its digits as a number."""
        return self.messages.recipient(index)

    def kind(self, index: int) -> MessageKind:
        """Return the kind of the message at `index`: its number and its properties."""
        return self.kinds[self.messages.kind(index)]

    def tag(self, index: int) -> str | None:
        """Return the opaque data that came with a message."""
        note = self.messages.note(index)
        if note.startswith(b'["'):
            # Without a backslash it ends at the first quote, and the content need not be parsed.
            written = note[2 : note.index(b'"', 2)]
            if b"\\" not in written:
                return written.decode()
        tag: str | None = orjson.loads(note)[0]
        return tag

    def row(self, index: int) -> dict[str, Any]:
        """Return one message as the control plane shows it."""
        tag, content = orjson.loads(self.messages.note(index))
        message = self.messages.row(index)
        kind = self.kinds[message.kind]
        return {
            "index": index,
            "wamid": self.wamid(index),
            "phone_number_id": kind.number_id,
            "to": str(message.recipient),
            "type": kind.type,
            "template": kind.template,
            "language": kind.language,
            "tag": tag,
            "received_at_ns": message.received_ns,
            **(_filled(content) if kind.template else {"content": content}),
        }

    def rows(self, after: int, limit: int) -> Iterator[dict[str, Any]]:
        """Yield up to `limit` messages from index `after` on (0 is the first)."""
        return (self.row(index) for index in range(after, min(after + limit, len(self))))

    def count(self, number_id: str, begin_ns: int, end_ns: int) -> int:
        """Return the count of a number's messages that were accepted from `begin_ns` up to `end_ns`."""
        kinds = self.kinds.of_number(number_id)
        return sum(
            int(segment.kinds[first:end].count(kind))
            for segment, first, end in self.messages.between(begin_ns, end_ns)
            for kind in kinds
        )

    def sent_between(self, begin_ns: int, end_ns: int) -> Iterator[list[Sent]]:
        """Yield the messages of a time, a segment at a time."""
        for segment, first, end in self.messages.between(begin_ns, end_ns):
            rows = (segment.row(offset) for offset in range(first, end))
            yield [Sent(self.kinds[row.kind], row.recipient, row.received_ns) for row in rows]

    def dump(self) -> dict[str, Any]:
        """Return the whole ledger, for a snapshot."""
        return {
            "ids": self.ids.dump(len(self)),
            "kinds": self.kinds.dump(),
            "segments": self.messages.dump(),
        }

    def load(self, state: dict[str, Any]) -> None:
        """Replace this ledger by a dumped one; ValueError if its parts do not fit together."""
        self.kinds.load(state["kinds"])
        self.messages.load(state["segments"], len(self.kinds))
        self.ids.load(state["ids"], len(self))


def _filled(content: Any) -> dict[str, Any]:
    """Return `parameters`, the values of the body, and `components`, the values of the header and the
    buttons, if any.
    """
    if isinstance(content, dict):
        return {"parameters": content["body"], "components": content["components"]}
    return {"parameters": content}
