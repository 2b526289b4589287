"""The durations of the statements of this process, by the file that they are in.

There is one value for a process, because its pools share it. Connections of pools report here (`observe` is a
query logger of asyncpg). A statement costs 3 µs more; those of a sender hold hundreds of messages.
"""

from asyncpg.connection import LoggedQuery

from drumbeat.engine.core.histogram import Histogram
from drumbeat.engine.store.queries import group_of

BOUNDS_S = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)
OTHER = "other"  # BEGIN and COMMIT, and statements of the driver itself


class StatementTimes:
    """The times in seconds by group: a file of `sql/queries`, or OTHER."""

    def __init__(self) -> None:
        self.by_group: dict[str, Histogram] = {}

    def observe(self, statement: LoggedQuery) -> None:
        """Count a statement that ended, with success or not."""
        group = group_of(statement.query) or OTHER
        if (histogram := self.by_group.get(group)) is None:
            histogram = self.by_group[group] = Histogram(BOUNDS_S)
        histogram.observe([statement.elapsed])


STATEMENT_TIMES = StatementTimes()
