"""The local files that headers of messages show, and their uploads at the service."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from drumbeat.engine.core.media_limits import REUSE_S
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.queries import queries

# How long other processes wait for the process that took an upload. A longer upload may be made twice, which
# costs only its bytes.
TAKEN_S = 120.0


@dataclass(frozen=True, slots=True)
class HeaderFile:
    """A file of a campaign. `reference` is its name in the audience or on the command line."""

    reference: str
    path: str
    sha256: str
    mime_type: str


@dataclass(frozen=True, slots=True)
class Upload:
    """A file for one number. `media_id` is None if it was never uploaded.

    `valid_s` is how long it can be sent from now on. `is_listed`: the account still lists the number.
    """

    file: HeaderFile
    phone_number_id: str
    media_id: str | None
    valid_s: float
    is_listed: bool


async def add_files(connection: Connection, campaign_id: int, files: Collection[HeaderFile]) -> None:
    """Store the files of a new campaign."""
    columns = [
        [getattr(file, name) for file in files] for name in ("reference", "path", "sha256", "mime_type")
    ]
    await connection.execute(queries("plan")["insert_campaign_files"], campaign_id, *columns)


async def uploads_of(connection: Connection, campaign_id: int, numbers: Sequence[str]) -> list[Upload]:
    """Return every file of a campaign for each of these numbers."""
    rows = await connection.fetch(queries("header_files")["of_campaign"], campaign_id, list(numbers))
    return [
        Upload(
            HeaderFile(row["reference"], row["path"], row["sha256"], row["mime_type"]),
            row["phone_number_id"],
            row["media_id"],
            row["valid_s"],
            row["is_listed"],
        )
        for row in rows
    ]


async def take_upload(
    connection: Connection | Pool, file: HeaderFile, phone_number_id: str, *, valid_s: float
) -> datetime | None:
    """Take an upload whose id is valid for less than `valid_s`, and return until when the new id will be
    valid.

    Returns None if there is nothing to do, or another process has taken it.
    """
    key = (file.sha256, file.mime_type, phone_number_id)
    expires_at: datetime | None = await connection.fetchval(
        queries("header_files")["take_upload"], *key, valid_s, TAKEN_S, float(REUSE_S)
    )
    return expires_at


async def store_upload(
    connection: Connection | Pool, file: HeaderFile, phone_number_id: str, media_id: str, expires_at: datetime
) -> None:
    """Store the id of a finished upload."""
    key = (file.sha256, file.mime_type, phone_number_id)
    await connection.execute(queries("header_files")["store_upload"], *key, media_id, expires_at)


async def release_upload(connection: Connection | Pool, file: HeaderFile, phone_number_id: str) -> None:
    """Release an upload that failed. Any process may try it again."""
    key = (file.sha256, file.mime_type, phone_number_id)
    await connection.execute(queries("header_files")["release_upload"], *key)
