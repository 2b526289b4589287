"""One line a minute about what goes wrong again and again, and one when it is over."""

from typing import Any

import structlog

from engine.clock import monotonic_ns
from engine.core.log_throttle import LogThrottle

log = structlog.get_logger(__name__)


class ThrottledLog:
    """One kind of trouble of one process, reported here wherever it is met."""

    def __init__(self, event: str, end: str) -> None:
        """`event` is logged as a warning with `times`, how often it was met; `end` when it is over."""
        self._event = event
        self._end = end
        self._repeats = LogThrottle()

    @property
    def is_told(self) -> bool:
        """Whether a log says that it goes on."""
        return self._repeats.goes_on

    def met(self, **what: Any) -> None:
        if (times := self._repeats.count(monotonic_ns())) is not None:
            log.warning(self._event, times=times, **what)

    def resolve(self, **what: Any) -> None:
        if self._repeats.resolve():
            log.info(self._end, **what)

    def look(self, quiet_ns: int, **what: Any) -> None:
        """Say that it is over when it was not met for `quiet_ns`; to be called now and then."""
        if self._repeats.resolve_if_quiet(monotonic_ns(), quiet_ns):
            log.info(self._end, **what)
