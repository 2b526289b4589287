"""The division of a chunk's staged rows into ranges by the time zones of their phones: a range has one set of
zones.

So a range waits as a whole while its zones forbid sending. The rows of a zone keep their order.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from drumbeat.campaigns.phones.zones import RecipientZones
from drumbeat.campaigns.planning.cut.range_cut import without_lines
from drumbeat.campaigns.planning.cut.range_size import RangePlan
from drumbeat.engine.core.limits.recipient_reasons import WORDS, RecipientReason
from drumbeat.engine.core.limits.sending_hours import SendingHours

# The skip reason of a recipient whose zones share no hour, or are not known.
NO_HOURS = WORDS[RecipientReason.NO_SENDING_HOURS].encode()


class OpenZones:
    """The zones of phones, as one text, that share an hour of `hours` at or after `begins`."""

    def __init__(self, hours: SendingHours, begins: datetime) -> None:
        self._hours = hours
        self._begins = begins
        self._zones_of = RecipientZones().of
        self._opens: dict[str | None, bool] = {None: False}

    @property
    def found(self) -> list[str]:
        """Return all sets of zones that recipients had so far."""
        return sorted(zones for zones, opens in self._opens.items() if zones is not None and opens)

    def of(self, phone: str) -> str | None:
        """Return the zones of a phone in digits of E.164; None if they are not known or never open."""
        zones = self._zones_of(phone)
        opens = self._opens.get(zones)
        if opens is None:
            assert zones is not None
            names = [ZoneInfo(zone) for zone in zones.split(",")]
            opens = self._opens[zones] = self._hours.opens_at(self._begins, names) is not None
        return zones if opens else None


class _OpenRange:
    """The range that rows of one set of zones go to. `recipients` so far."""

    __slots__ = ("range_id", "recipients")

    def __init__(self, range_id: int) -> None:
        self.range_id = range_id
        self.recipients = 0


class ZonedCut:
    """The division of one chunk. `zones` has, by its id, the zones of each range that got recipients; None
    means that all of its recipients are skipped. `canary_zones` has those of the ranges that hold the first
    `canary` recipients and nobody else.

    `new_id` makes the id of a range.
    """

    def __init__(
        self,
        new_id: Callable[[], int],
        plan: RangePlan,
        zones: OpenZones,
        canary: int = 0,
        left_out: Sequence[int] = (),
        suppressed: Sequence[int] = (),
    ) -> None:
        self.zones: dict[int, str | None] = {}
        self.canary_zones: dict[int, str | None] = {}
        self._new_id = new_id
        self._plan = plan
        self._zones_of = zones.of
        self._canary = canary  # recipients of the canary that are still to come
        self._left_out = left_out
        self._suppressed = frozenset(suppressed)
        self._open: dict[str | None, _OpenRange] = {}
        self._open_canary: dict[str | None, _OpenRange] = {}

    def recipients(self, staged: bytes) -> bytes:
        """Return the next batch of the chunk as rows of `COLUMNS`; empty if all are left out."""
        rows = without_lines(staged.split(b"\n"), self._left_out)
        return b"".join(map(self._row, rows))

    def _row(self, row: bytes) -> bytes:
        line, phone, _ = row.split(b"\t", 2)
        zones = self._zones_of(phone.decode())
        into = self._range(zones)
        into.recipients += 1
        suppressed = int(line) in self._suppressed
        reason = b"suppressed" if suppressed else NO_HOURS if zones is None else b"\\N"
        return b"%d\t%d\t%b\t%b\n" % (into.range_id, into.recipients, reason, row)

    def _range(self, zones: str | None) -> _OpenRange:
        """Return the range of the next recipient."""
        if not self._canary:
            return self._with_space(self._open, self.zones, self._plan.size, zones)
        self._canary -= 1
        return self._with_space(self._open_canary, self.canary_zones, self._plan.canary_size, zones)

    def _with_space(
        self, opened: dict[str | None, _OpenRange], made: dict[int, str | None], size: int, zones: str | None
    ) -> _OpenRange:
        found = opened.get(zones)
        if found is None or found.recipients == size:
            found = opened[zones] = _OpenRange(self._new_id())
            made[found.range_id] = zones
        return found
