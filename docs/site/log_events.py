"""The page of log events, from their table."""

from collections.abc import Sequence

from docs.site.markdown import linked, table
from drumbeat.engine.process.log_events import LASTING, LOG_EVENTS, LogEvent

PROSE = """# Log events

A log line is an event with fields: text on a terminal, JSON elsewhere. `DRUMBEAT_LOG_LEVEL` sets the level. A
log never shows a secret or a recipient's whole number (`***4567`).
"""

ABOUT_LASTING = """ A problem that repeats is logged once a minute, with the count in `times`, and once
when it is over."""

LINKS = {
    "quota_used_up": {"messaging limit": "../explanation/messaging-limits.md"},
    "secret_replaced": {"a new secret": "rotate-secrets.md"},
    "notification_sent": {"notification": "notifications.md"},
    "database_rollback_detected": {"what to do": "restored-database.md"},
}


def log_events_page() -> str:
    return PROSE + "".join(_section(name, events) for name, events in LOG_EVENTS.items())


def _section(name: str, events: Sequence[LogEvent]) -> str:
    heading = f"\n**{name}.**{ABOUT_LASTING}" if name == LASTING else f"\n**{name}**"
    header = ("event", "over", "meaning") if name == LASTING else ("event", "meaning")
    return f"{heading}\n\n{table(header, map(_row, events))}"


def _row(event: LogEvent) -> list[str]:
    names = ", ".join(f"`{name}`" for name in event.names)
    over = [f"`{event.over}`"] if event.over else []
    return [names, *over, linked(event.meaning, LINKS.get(event.names[0], {}))]
