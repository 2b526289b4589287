"""A chunk's staged rows, batch after batch, as recipients of its ranges: the text that COPY takes.

All of it works on whole rows as they were staged: what a recipient's own row adds is its range, its place in
the range and whether it is skipped, and they are written in front.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cache
from itertools import compress
from operator import add

# A staged row is the text of the last three; see `StagedBatch.recipients`.
COLUMNS = ("range_id", "seq", "skip_reason", "line", "phone", "variables")
_NOT_SKIPPED = b"\t%d\t\\N\t"
_SUPPRESSED = b"\t%d\tsuppressed\t"


class RangeCut:
    """Cuts one chunk: `range_size` recipients to each of the ranges; only the last may be smaller.

    `duplicates` and `suppressed`: lines of the chunk, ascending. Duplicates are left out.
    """

    def __init__(
        self,
        range_ids: Sequence[int],
        range_size: int,
        duplicates: Sequence[int] = (),
        suppressed: Sequence[int] = (),
    ) -> None:
        self._range_ids = range_ids
        self._range_size = range_size
        self._duplicates = duplicates
        self._suppressed = suppressed
        self._place = 0  # of the next recipient, in the chunk

    def recipients(self, staged: bytes) -> bytes:
        """The next batch of the chunk as rows of `COLUMNS`; nothing where all are duplicates."""
        rows = _without(staged.split(b"\n"), self._duplicates)
        suppressed = _places(rows, self._suppressed)
        cut: list[bytes] = []
        at = 0
        while at < len(rows):
            ordinal, seq = divmod(self._place, self._range_size)
            part = rows[at : at + self._range_size - seq]
            heads = _heads(self._range_size)[seq : seq + len(part)]
            for place in suppressed[bisect_left(suppressed, at) : bisect_left(suppressed, at + len(part))]:
                heads[place - at] = _SUPPRESSED % (seq + place - at + 1)
            new_row = b"\n%d" % self._range_ids[ordinal]
            cut.append(new_row[1:] + new_row.join(map(add, heads, part)))
            self._place += len(part)
            at += len(part)
        return b"".join(text + b"\n" for text in cut)


def _without(rows: list[bytes], lines: Sequence[int]) -> list[bytes]:
    places = _places(rows, lines)
    if not places:
        return rows
    kept = bytearray(b"\1") * len(rows)
    for place in places:
        kept[place] = 0
    return list(compress(rows, kept))


def _places(rows: Sequence[bytes], lines: Sequence[int]) -> list[int]:
    """Where the rows of these lines stand, both in ascending order; some may be of other batches."""
    if not rows or not lines:
        return []
    line_before = _line(rows[0])
    of_these = lines[bisect_left(lines, line_before) : bisect_right(lines, _line(rows[-1]))]
    places: list[int] = []
    place = 0
    for line in of_these:
        # Lines ascend by one or more, so it is no farther than that: of many in a row each is found at once.
        end = min(len(rows), place + line - line_before + 1)
        place = bisect_left(rows, line, place, end, key=_line)
        line_before = _line(rows[place])
        if line_before == line:
            places.append(place)
    return places


def _line(row: bytes) -> int:
    return int(row[: row.index(b"\t")])


@cache
def _heads(range_size: int) -> list[bytes]:
    """What stands between the range and the staged row of each of its recipients."""
    return [_NOT_SKIPPED % seq for seq in range(1, range_size + 1)]
