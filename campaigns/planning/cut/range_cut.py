"""The division of a chunk's staged rows into ranges, which are written as text for COPY.

A staged row is not taken apart. Its range, its number in the range and whether it is skipped are written in
front of it.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cache
from itertools import compress
from operator import add

# A staged row is the text of the last four; see `StagedBatch.recipients`.
COLUMNS = ("range_id", "seq", "skip_reason", "line", "phone", "template_index", "variables")
_NOT_SKIPPED = b"\t%d\t\\N\t"
_SUPPRESSED = b"\t%d\tsuppressed\t"


class RangeCut:
    """The division of one chunk into ranges. `sizes` says how many recipients each range takes.

    `duplicates` and `suppressed` are lines of the chunk, ascending. Duplicates are left out.
    """

    def __init__(
        self,
        range_ids: Sequence[int],
        sizes: Sequence[int],
        duplicates: Sequence[int] = (),
        suppressed: Sequence[int] = (),
    ) -> None:
        self.range_ids = range_ids
        self._sizes = sizes
        self._duplicates = duplicates
        self._suppressed = suppressed
        self._range = 0  # the position of the present range
        self._seq = 0  # the number of its recipients that are written

    def recipients(self, staged: bytes) -> bytes:
        """Return the next batch of the chunk as rows of `COLUMNS`; empty if all are duplicates."""
        rows = without_lines(staged.split(b"\n"), self._duplicates)
        suppressed = _indexes(rows, self._suppressed)
        cut: list[bytes] = []
        at = 0
        while at < len(rows):
            size, seq = self._sizes[self._range], self._seq
            part = rows[at : at + size - seq]
            heads = _heads(size)[seq : seq + len(part)]
            for index in suppressed[bisect_left(suppressed, at) : bisect_left(suppressed, at + len(part))]:
                heads[index - at] = _SUPPRESSED % (seq + index - at + 1)
            new_row = b"\n%d" % self.range_ids[self._range]
            cut.append(new_row[1:] + new_row.join(map(add, heads, part)))
            is_full = seq + len(part) == size
            self._range, self._seq = (self._range + 1, 0) if is_full else (self._range, seq + len(part))
            at += len(part)
        return b"".join(text + b"\n" for text in cut)


def without_lines(rows: list[bytes], lines: Sequence[int]) -> list[bytes]:
    """Return the rows without those in these lines. Both ascend."""
    indexes = _indexes(rows, lines)
    if not indexes:
        return rows
    kept = bytearray(b"\1") * len(rows)
    for index in indexes:
        kept[index] = 0
    return list(compress(rows, kept))


def _indexes(rows: Sequence[bytes], lines: Sequence[int]) -> list[int]:
    """Return the indexes of the rows in these lines. Both ascend; some lines may be of other batches."""
    if not rows or not lines:
        return []
    line_before = _line(rows[0])
    of_these = lines[bisect_left(lines, line_before) : bisect_right(lines, _line(rows[-1]))]
    indexes: list[int] = []
    index = 0
    for line in of_these:
        # Each row's line is at least one more than the row's before, which bounds the search: adjacent lines
        # are found at once.
        end = min(len(rows), index + line - line_before + 1)
        index = bisect_left(rows, line, index, end, key=_line)
        line_before = _line(rows[index])
        if line_before == line:
            indexes.append(index)
    return indexes


def _line(row: bytes) -> int:
    return int(row[: row.index(b"\t")])


@cache
def _heads(range_size: int) -> list[bytes]:
    """Return the text between the range id and the staged row, for each recipient of a range."""
    return [_NOT_SKIPPED % seq for seq in range(1, range_size + 1)]
