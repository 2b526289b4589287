"""The commits of accepted bodies: one transaction for a group of bodies, before any of them is answered.

Law: a repeated event changes nothing. A part that the store refuses takes no other with it: then each body is
written in a transaction of its own, and of a refused body each event. The refused body is kept as bytes.
"""

import hashlib
import time
from collections.abc import Iterator, Sequence
from datetime import datetime

from drumbeat.engine.core.event_origin import Ours
from drumbeat.engine.core.phone_aliases import phone_aliases
from drumbeat.engine.store.database import LOST_CONNECTION, Connection
from drumbeat.engine.store.queries import queries
from drumbeat.engine.webhooks.events import PHONE_NUMBER_ID, AccountEvent, IncomingMessage, Parsed, Unreadable
from drumbeat.engine.webhooks.opt_out_events import act_on_events, keep_events
from drumbeat.engine.webhooks.opt_outs import note_opt_outs
from drumbeat.engine.webhooks.packing import GroupRow, pack
from drumbeat.engine.webhooks.parse import Reader, parse
from drumbeat.engine.webhooks.people import refusal
from drumbeat.engine.webhooks.senders import with_senders
from drumbeat.engine.webhooks.waiting import FIRST_WAIT_S

# A delay of this length only makes an attempt in doubt wait longer before it counts as probably not sent.
EVENT_FLOW_S = 1.0


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


class EventFlow:
    """The numbers that recently had events. The store is updated once in EVENT_FLOW_S, not at each commit."""

    def __init__(self) -> None:
        self._reported: set[str] = set()
        self._until = 0.0

    def unreported(self, numbers: set[str]) -> set[str]:
        """Return those of `numbers` whose activity is not stored yet."""
        if time.monotonic() >= self._until:
            self._reported.clear()
            self._until = time.monotonic() + EVENT_FLOW_S
        return numbers - self._reported

    def reported(self, numbers: set[str]) -> None:
        """Note that the store has committed the activity of these numbers."""
        self._reported |= numbers


async def write(connection: Connection, group: BodyGroup, event_flow: EventFlow | None = None) -> None:
    """Commit the group.

    If the database is lost or fails, its error is raised and no body may be answered with 200.
    """
    event_flow = event_flow or EventFlow()
    if await _refusal(connection, group.parsed, event_flow) is not None:
        for body, parsed in group.apart():
            await _write_alone(connection, body, parsed, event_flow)


async def _write_alone(connection: Connection, body: bytes, parsed: Parsed, event_flow: EventFlow) -> None:
    """Commit one body. If the store refuses it, halve its events until each refused one stands alone.

    The body is kept for the refused events.
    """
    if (error := await _refusal(connection, parsed, event_flow)) is None:
        return
    halves = parsed.halves()
    if halves is None:
        problem = Unreadable(body, f"the store refused it: {error}"[:200])
        await write_together(connection, Parsed(unreadable=[problem]), event_flow)
        return
    for half in halves:
        await _write_alone(connection, body, half, event_flow)


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


async def write_together(connection: Connection, parsed: Parsed, event_flow: EventFlow) -> None:
    """Commit everything or nothing. Also raises if the store refuses a value.

    Rows are stored before the lock of opt-outs is taken. Then a process that holds the lock waits for no row
    of another receiver, which may wait for the lock.
    """
    statuses = parsed.statuses
    groups = pack(statuses)
    numbers = event_flow.unreported({number for status in statuses if (number := status[PHONE_NUMBER_ID])})
    others = parsed.messages or parsed.account or parsed.unreadable or parsed.opt_outs or parsed.opted_out
    if len(groups) == 1 and not (numbers or others):
        # One statement is a transaction: one round trip instead of three.
        await _write_group(connection, groups[0])
        return
    async with connection.transaction():
        for group in groups:
            await _write_group(connection, group)
        if numbers:
            await connection.execute(queries("inbox")["note_flow"], list(numbers))
        messages = await _keep_messages(connection, parsed.messages) if parsed.messages else []
        if parsed.account:
            await _write_account(connection, parsed.account)
        if parsed.unreadable:
            await _write_unreadable(connection, parsed.unreadable)
        opt_outs = [*map(refusal, parsed.opted_out), *parsed.opt_outs]
        keys = await keep_events(connection, opt_outs) if opt_outs else []
        if messages:
            await note_opt_outs(connection, messages)
        if keys:
            await act_on_events(connection, keys)
    event_flow.reported(numbers)


async def _write_group(connection: Connection, group: GroupRow) -> None:
    await connection.execute(queries("inbox")["keep_group"], *group)


async def _keep_messages(
    connection: Connection, messages: Sequence[IncomingMessage]
) -> list[IncomingMessage]:
    """Store the messages. Return those that were not stored before, with the phones of senders now known."""
    messages = await with_senders(connection, messages)
    columns = map(list, zip(*messages, strict=True))
    waits_s = [None if phone_aliases(message.sender) else FIRST_WAIT_S for message in messages]
    rows = await connection.fetch(queries("inbox")["keep_messages"], *columns, waits_s)
    new = {row["wamid"] for row in rows}
    return [message for message in messages if message.wamid in new]


async def _write_account(connection: Connection, events: Sequence[AccountEvent]) -> None:
    rows = [(account_key(event.field, event.value, event.occurred_at), *event) for event in events]
    await connection.execute(queries("inbox")["keep_account_events"], *map(list, zip(*rows, strict=True)))


async def _write_unreadable(connection: Connection, parts: Sequence[Unreadable]) -> None:
    rows = [(hashlib.sha256(part.part).hexdigest(), *part) for part in parts]
    await connection.execute(queries("inbox")["keep_unreadable"], *map(list, zip(*rows, strict=True)))


def account_key(field: str, value: str, occurred_at: datetime | None) -> str:
    """Return the identity of an account event: a repetition has the same field, value and time."""
    moment = "" if occurred_at is None else occurred_at.isoformat()
    return hashlib.sha256(f"{field}\n{moment}\n{value}".encode()).hexdigest()
