"""The counts of an emulated service's ledger: the pace of each number, and who got a message twice."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SECOND_NS = 1_000_000_000
# Of a tag, `installation.range.seq.attempt.epoch`, what names the recipient of a campaign.
_RECIPIENT_PARTS = 3


@dataclass(slots=True)
class NumberCounts:
    """The messages that the service accepted from one number. `by_second` counts them by the second since the
    first message of all. `most_in_a_second` is the largest count of any sliding second.
    """

    messages: int = 0
    most_in_a_second: int = 0
    by_second: Counter[int] = field(default_factory=Counter)
    _latest_ns: deque[int] = field(default_factory=deque)

    def add(self, at_ns: int, second: int) -> None:
        """Count a message. They come in the order of their acceptance."""
        self.messages += 1
        self.by_second[second] += 1
        latest = self._latest_ns
        latest.append(at_ns)
        while at_ns - latest[0] >= SECOND_NS:
            latest.popleft()
        self.most_in_a_second = max(self.most_in_a_second, len(latest))


@dataclass(slots=True)
class LedgerCounts:
    """The counts of a whole ledger. `counts_recipients`: find those who got a message twice, which takes
    memory for each recipient.
    """

    counts_recipients: bool = False
    numbers: dict[str, NumberCounts] = field(default_factory=dict)
    _first_ns: int | None = None
    _recipients: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, entry: Mapping[str, Any]) -> None:
        """Count one entry of the ledger."""
        at_ns = int(entry["received_at_ns"])
        if self._first_ns is None:
            self._first_ns = at_ns
        number = self.numbers.setdefault(entry["phone_number_id"], NumberCounts())
        number.add(at_ns, (at_ns - self._first_ns) // SECOND_NS)
        if self.counts_recipients:
            self._recipients[(entry["to"], _campaign_place(entry.get("tag")))] += 1

    @property
    def messages(self) -> int:
        return sum(number.messages for number in self.numbers.values())

    @property
    def twice(self) -> dict[str, int]:
        """Return the phones to which one recipient's message was sent more than once, with how often."""
        found: Counter[str] = Counter()
        for (phone, _), count in self._recipients.items():
            if count > 1:
                found[phone] = max(found[phone], count)
        return dict(found)


def _campaign_place(tag: Any) -> str:
    """Return the place of a recipient in its campaign: a person may get a message of each of two campaigns.
    A message without a tag belongs to no campaign that is known.
    """
    return ".".join(tag.split(".")[:_RECIPIENT_PARTS]) if isinstance(tag, str) else ""
