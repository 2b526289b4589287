"""The loggers of Drumbeat's events, in a command or in the process of an application.

A command writes them as `telemetry.configure_logging` says. While an application has an installation open,
they go to `logging`, to the loggers below `drumbeat`; neither structlog nor the root logger is changed.
Law: they are masked before a handler of the application sees them.
"""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import structlog

LIBRARY = "drumbeat"

# Nothing is written unless an application asks for it. Without a handler, Python writes warnings to stderr.
for _name in (LIBRARY, "asyncpg"):
    logging.getLogger(_name).addHandler(logging.NullHandler())


class EventLog:
    """A logger of events with fields."""

    __slots__ = ("_events", "_name")

    def __init__(self, name: str) -> None:
        self._name = name
        self._events = structlog.get_logger(name)

    def debug(self, event: str, **fields: Any) -> None:
        self._log("debug", logging.DEBUG, event, fields)

    def info(self, event: str, **fields: Any) -> None:
        self._log("info", logging.INFO, event, fields)

    def warning(self, event: str, **fields: Any) -> None:
        self._log("warning", logging.WARNING, event, fields)

    def error(self, event: str, **fields: Any) -> None:
        self._log("error", logging.ERROR, event, fields)

    def exception(self, event: str, **fields: Any) -> None:
        """Log an error with the traceback of the exception that is handled."""
        self._log("exception", logging.ERROR, event, fields)

    def _log(self, method: str, level: int, event: str, fields: dict[str, Any]) -> None:
        if _openings.count == 0:
            getattr(self._events, method)(event, **fields)
        elif (logger := logging.getLogger(self._name)).isEnabledFor(level):
            shown = {"exc_info": sys.exc_info(), **fields} if method == "exception" else fields
            message, masked = _masked(event, shown)
            logger.log(level, "%s", message, extra={LIBRARY: masked})


class _Openings:
    """The number of installations that an application has open in this process."""

    count = 0


_openings = _Openings()


def get_logger(name: str) -> EventLog:
    """Return the logger of a module. Its name is the module's."""
    return EventLog(name)


@contextmanager
def in_an_application() -> Iterator[None]:
    """Send events to `logging` until the block ends."""
    _openings.count += 1
    try:
        yield
    finally:
        _openings.count -= 1


def _masked(event: str, fields: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the line of an event, and its fields for handlers that read them.

    A traceback is text here: a handler would print the exception with the phones that it may hold.
    """
    # Imported here: telemetry imports pydantic, which a logger of a command does not need.
    from drumbeat.engine.process.telemetry import masked_event

    found = masked_event({"event": event, **fields})
    name, traceback = str(found.pop("event")), found.pop("exception", None)
    line = " ".join([name, *(f"{key}={value!r}" for key, value in found.items())])
    if traceback is not None:
        found["exception"] = traceback
        line = f"{line}\n{traceback}"
    return line, {"event": name, **found}
