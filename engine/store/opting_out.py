"""The people of whom the service says that they opted out, and suppressed people who changed their number.

Laws:

* If the service put a person on the list for a 131050, only a person takes them off it.
* A suppressed person's new number gets the entry of the former one, whichever came first, the change or the
  opt-out.
"""

from collections.abc import Collection, Sequence

from drumbeat.engine.core.phone_aliases import phone_aliases
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.queries import queries

CHANGES_MAX = 5  # changes of one person, one after the other


async def suppress_for_good(connection: Connection, opted_out: Sequence[tuple[int, str]]) -> None:
    """Suppress these phones, given in all aliases and with a reason each, for the service."""
    if not opted_out:
        return
    columns = map(list, zip(*opted_out, strict=True))
    added = await connection.fetch(queries("opt_outs")["suppress_for_good"], *columns)
    await audit_service(connection, "opt-out", len(added))
    await follow_changed_numbers(connection, [phone for phone, _ in opted_out])


async def audit_service(connection: Connection, action: str, entries: int, **detail: str | None) -> None:
    """Note how many entries of the list changed because of the service's news, if any did."""
    if entries:
        noted = {"source": "service", "entries": entries, **detail}
        await connection.execute(queries("opt_outs")["audit_service"], action, noted)


async def follow_changed_numbers(connection: Connection, phones: Collection[int]) -> None:
    """Suppress the present numbers of those of these people who are suppressed. `phones` has all aliases."""
    for _ in range(CHANGES_MAX):
        rows = await connection.fetch(queries("opt_outs")["changed_numbers"], list(phones))
        entries = [
            (alias, f"changed number: {row['reason']}", row["source"], row["by_preference"])
            for row in rows
            for alias in phone_aliases(str(row["new_phone"]))
        ]
        if not entries:
            return
        columns = map(list, zip(*entries, strict=True))
        added = await connection.fetch(queries("opt_outs")["suppress_changed"], *columns)
        if not added:
            return
        await audit_service(connection, "opt-out", len(added), why="changed number")
        phones = [row["phone"] for row in added]
