"""The counts of values by buckets: how many lie at or below each bound."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate


class Histogram:
    """A histogram. `bounds` ascend; values above the last one count too. `total` is the sum of all values."""

    __slots__ = ("_bounds", "_counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)  # of each bucket alone
        self.total = 0.0

    def observe(self, values: list[int] | list[float]) -> None:
        """Count the values. Sorts the list that it gets. A batch costs less than its values one by one."""
        values.sort()
        below = 0
        for index, bound in enumerate(self._bounds):
            position = bisect_right(values, bound, below)
            self._counts[index] += position - below
            below = position
        self._counts[-1] += len(values) - below
        self.total += sum(values)

    def cumulative(self) -> list[int]:
        """Return how many values lie at or below each bound; the last count is of all."""
        return list(accumulate(self._counts))
