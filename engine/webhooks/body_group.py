"""Groups of accepted bodies: one transaction for each group, before any of its bodies is answered.

Law: a part that the store refuses takes no other with it. Then each body is written in a transaction of its
own, and of a refused body each event. The refused body is kept as bytes.
"""

from collections.abc import Iterator

from drumbeat.engine.core.events.origin import Ours
from drumbeat.engine.core.events.records import Parsed, Unreadable
from drumbeat.engine.store.database import LOST_CONNECTION, Connection
from drumbeat.engine.store.inbox import EventFlow, write_together
from drumbeat.engine.webhooks.parse import Reader, parse


class BodyGroup:
    """The signed bodies that are committed together, and the events read from them."""

    def __init__(self, product: str, ours: Ours | None = None) -> None:
        self._product = product
        self._ours = ours
        self._bodies: list[bytes] = []
        self.parsed = Parsed()
        self._reader = Reader(self.parsed, product, ours=ours)
        self.events = 0

    def add(self, body: bytes) -> int:
        """Read one more body. Return the number of its events, at least one."""
        found = self._reader.read(body)
        self._bodies.append(body)
        self.events += found
        return found

    def apart(self) -> Iterator[tuple[bytes, Parsed]]:
        """Yield each body with its own events, parsed again."""
        for body in self._bodies:
            yield body, parse(body, self._product, ours=self._ours)


async def write(
    connection: Connection, group: BodyGroup, event_flow: EventFlow | None = None
) -> list[Parsed]:
    """Commit the group. Return what was committed: parts that the store refused are among `unreadable`.

    If the database is lost or fails, its error is raised and no body may be answered with 200.
    """
    event_flow = event_flow or EventFlow()
    if await _refusal(connection, group.parsed, event_flow) is None:
        return [group.parsed]
    stored = []
    for body, parsed in group.apart():
        stored += await _write_alone(connection, body, parsed, event_flow)
    return stored


async def _write_alone(
    connection: Connection, body: bytes, parsed: Parsed, event_flow: EventFlow
) -> list[Parsed]:
    """Commit one body. If the store refuses it, halve its events until each refused one stands alone.

    The body is kept for the refused events.
    """
    if (error := await _refusal(connection, parsed, event_flow)) is None:
        return [parsed]
    halves = parsed.halves()
    if halves is None:
        problem = Unreadable(body, f"the store refused it: {error}"[:200])
        refused = Parsed(unreadable=[problem], foreign=parsed.foreign)
        await write_together(connection, refused, event_flow)
        return [refused]
    first, rest = [await _write_alone(connection, body, half, event_flow) for half in halves]
    return [Parsed(foreign=parsed.foreign), *first, *rest]


async def _refusal(connection: Connection, parsed: Parsed, event_flow: EventFlow) -> Exception | None:
    """Commit the events. Return why the store refuses a value of them; None if they are committed."""
    try:
        await write_together(connection, parsed, event_flow)
    except Exception as error:
        if _is_away(error):
            raise
        return error
    return None


def _is_away(error: Exception) -> bool:
    """Return whether the database is at fault, not a value. The driver reports both as interface errors."""
    return isinstance(error, LOST_CONNECTION) and not isinstance(error, ValueError)
