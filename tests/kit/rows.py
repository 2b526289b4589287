"""Rows that a test finds in the database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drumbeat.engine.store.database import Connection, Pool


async def suppress(database: Pool | Connection, *phones: int, reason: str = "asked") -> None:
    await database.execute(
        "INSERT INTO suppressions (phone, reason) SELECT unnest($1::bigint[]), $2", phones, reason
    )


async def add_template(
    database: Pool | Connection,
    name: str,
    definition: Mapping[str, Any],
    *languages: str,
    status: str = "APPROVED",
) -> None:
    """Store a template in these languages, or in English."""
    await database.executemany(
        "INSERT INTO templates (name, language, status, definition) VALUES ($1, $2, $3, $4)",
        [(name, language, status, definition) for language in languages or ("en",)],
    )
