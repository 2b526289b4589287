"""The name under which the audit notes an action: `name@host`."""

from __future__ import annotations

import getpass
import os
import socket
from typing import Any

from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.queries import queries


def actor() -> str:
    """Return the user and host of this process. In containers, a user may have no name."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        name = f"uid {os.getuid()}"
    return f"{name}@{socket.gethostname()}"


async def note_audit(
    database: Pool | Connection, actor: str, action: str, campaign_id: int | None = None, **detail: Any
) -> None:
    """Note an action in the audit, unless `actor` is empty: then nobody asked for a note."""
    if actor:
        await database.execute(queries("campaigns")["audit"], actor, action, campaign_id, detail)
