"""The uploads of local header files: when a campaign is created, and again before their ids end.

Law: a content is uploaded once for each number, whatever the number of campaigns, rows and processes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from hashlib import file_digest
from pathlib import Path

from drumbeat.engine.errors import ConfigurationError
from drumbeat.engine.sending.header_files import RENEW_BEFORE_S
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.header_files import HeaderFile, release_upload, store_upload, take_upload

UploadFile = Callable[[str, Path, str], Awaitable[str]]
"""A function of the number, the file and its MIME type that returns the service's id."""
OpenUploads = Callable[[], AbstractAsyncContextManager[UploadFile]]


def no_uploads() -> AbstractAsyncContextManager[UploadFile]:
    """Refuse uploads, for callers without header files."""
    raise RuntimeError("a header file is to be uploaded, and no service is named")


class FileUploads:
    """The uploads of files that are missing or end soon. It may be called for several files at once."""

    def __init__(self, database: Connection | Pool, upload: UploadFile) -> None:
        self._database = database
        self._upload = upload
        self._using_database = asyncio.Lock()  # a connection takes one statement at a time

    async def ensure(self, file: HeaderFile, phone_number_id: str) -> None:
        """Upload the file for this number, unless its id is valid for long or another process is uploading
        it.

        Raises what the service's client raises, and ConfigurationError if the file is gone or has changed.
        """
        async with self._using_database:
            expires_at = await take_upload(self._database, file, phone_number_id, valid_s=RENEW_BEFORE_S)
        if expires_at is None:
            return
        try:
            await asyncio.to_thread(require_unchanged, file)
            media_id = await self._upload(phone_number_id, Path(file.path), file.mime_type)
        except BaseException:
            async with self._using_database:
                await release_upload(self._database, file, phone_number_id)
            raise
        async with self._using_database:
            await store_upload(self._database, file, phone_number_id, media_id, expires_at)


def sha256_of(path: Path) -> str:
    """Return the hash of a file's content. Raises ConfigurationError if it cannot be read."""
    try:
        with path.open("rb") as content:
            return file_digest(content, "sha256").hexdigest()
    except OSError as error:
        raise ConfigurationError(
            f"the header file cannot be read: {error.strerror}",
            where=str(path),
            remedy="put it there, or let your user read it",
        ) from error


def require_unchanged(file: HeaderFile) -> None:
    """Raise ConfigurationError unless the file still has the content that the campaign was created with."""
    if sha256_of(Path(file.path)) != file.sha256:
        raise ConfigurationError(
            "the header file has changed since the campaign was created",
            where=file.path,
            remedy="put the former file back",
        )
