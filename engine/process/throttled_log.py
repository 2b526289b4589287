"""The log of a repeated problem: at most one line a minute, and one when the problem is over."""

from typing import Any

from drumbeat.engine.clock import monotonic_ns
from drumbeat.engine.core.log_throttle import LogThrottle
from drumbeat.engine.process.event_log import get_logger

log = get_logger(__name__)


class ThrottledLog:
    """The log of one kind of problem in one process. Every part that meets the problem reports it here."""

    def __init__(self, event: str, end: str) -> None:
        """Name the events. `event` is logged as a warning; its field `times` counts the reports.

        `end` is logged when the problem is over.
        """
        self._event = event
        self._end = end
        self._throttle = LogThrottle()

    @property
    def is_reported(self) -> bool:
        """Return whether the log says that the problem continues."""
        return self._throttle.is_reported

    def report(self, **fields: Any) -> None:
        """Report that the problem occurred."""
        if (times := self._throttle.count(monotonic_ns())) is not None:
            log.warning(self._event, times=times, **fields)

    def resolve(self, **fields: Any) -> None:
        """Note that the problem is over. Log its end once, if the problem was logged."""
        if self._throttle.resolve():
            log.info(self._end, **fields)

    def check_quiet(self, quiet_ns: int, **fields: Any) -> None:
        """Resolve the problem if it has not occurred for `quiet_ns`. Call it regularly."""
        if self._throttle.resolve_if_quiet(monotonic_ns(), quiet_ns):
            log.info(self._end, **fields)


class ThrottledLogs:
    """The logs of problems of one kind that differ in a word. Each word has a line of its own a minute."""

    WORDS_MAX = 50  # a word may hold what others wrote; further ones share a log

    def __init__(self, event: str, end: str, field: str) -> None:
        """Name the events, as ThrottledLog does, and the field that holds the word."""
        self._event, self._end, self._field = event, end, field
        self._logs: dict[str, ThrottledLog] = {}

    def report(self, word: str) -> None:
        """Report that the problem occurred with this word."""
        key = word if word in self._logs or len(self._logs) < self.WORDS_MAX else "others"
        self._logs.setdefault(key, ThrottledLog(self._event, self._end)).report(**{self._field: word})

    def check_quiet(self, quiet_ns: int) -> None:
        """Resolve the problems that have not occurred for `quiet_ns`. Call it regularly."""
        for word, log_of_word in list(self._logs.items()):
            log_of_word.check_quiet(quiet_ns, **{self._field: word})
            if not log_of_word.is_reported:
                del self._logs[word]
