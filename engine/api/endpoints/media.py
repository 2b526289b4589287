"""The uploads, look-ups, downloads and deletions of files. A file is streamed and never whole in memory."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import mimetypes
import os
import secrets
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import aiohttp

from drumbeat.engine.api.caller import Caller
from drumbeat.engine.api.fields import number_of, text_of
from drumbeat.engine.api.service_error import ServiceError
from drumbeat.engine.core.media_limits import check_file
from drumbeat.engine.errors import ConfigurationError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

DOWNLOAD_BYTES_MAX = 110 * 1024 * 1024  # the largest file is a document of 100 MB


@dataclass(frozen=True, slots=True)
class MediaRecord:
    """A file at the service. `url` is valid for five minutes, with the same token."""

    media_id: str
    url: str
    mime_type: str
    sha256: str
    file_size: int


class Media:
    """The rows `/{phone number ID}/media` and `/{media ID}`.

    For a look-up or a deletion, `phone_number_id` is the number that must own the file.
    """

    def __init__(self, caller: Caller, product: str) -> None:
        self._caller = caller
        self._product = product

    async def upload(self, phone_number_id: str, file: Path, mime_type: str | None = None) -> str:
        """Upload a file and return its id, which can be sent for 30 days. The type is guessed from the name.

        Raises UsageError if the file is empty, too large for its type, or of no known type. Nothing is sent
        then.
        """
        mime_type = mime_type or mimetypes.guess_type(file.name)[0]
        if mime_type is None:
            raise UsageError(f"{file} is of no known type", remedy="name its MIME type, such as image/jpeg")
        with _opened(file) as content:
            check_file(str(file), mime_type, content.seek(0, 2))
            content.seek(0)
            form = aiohttp.FormData()
            form.add_field("messaging_product", self._product)
            form.add_field("type", mime_type)
            form.add_field("file", content, filename=file.name, content_type=mime_type)
            path = f"{phone_number_id}/media"
            answer = await self._caller.call("POST", path, form=form)
        if not (media_id := text_of(answer, "id")):
            raise ServiceError("the answer names no file", where=path)
        return media_id

    async def get(self, media_id: str, phone_number_id: str | None = None) -> MediaRecord:
        """Return the record of a file: its type, its size, its hash, and the URL for a download."""
        answer = await self._caller.call("GET", media_id, query=_owner(phone_number_id))
        return MediaRecord(
            text_of(answer, "id") or media_id,
            text_of(answer, "url"),
            text_of(answer, "mime_type"),
            text_of(answer, "sha256"),
            int(number_of(answer, "file_size")),
        )

    async def download(self, media_id: str, target: Path, phone_number_id: str | None = None) -> MediaRecord:
        """Write a file to `target`, which appears complete or not at all. It replaces an existing file.

        Raises ServiceError if the content does not match the hash that the service names.
        """
        record = await self.get(media_id, phone_number_id)
        if not record.url:
            raise ServiceError("the answer names no address of the file", where=media_id)
        part = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
        try:
            with _created(part) as file:
                digest = await self._write(record, file)
            _require_hash(record, digest)
            await asyncio.to_thread(part.replace, target)
        finally:
            with suppress(OSError):
                part.unlink()
        return record

    async def _write(self, record: MediaRecord, file: BinaryIO) -> bytes:
        digest, size = hashlib.sha256(), 0
        async for chunk in self._caller.chunks(record.url):
            size += len(chunk)
            if size > DOWNLOAD_BYTES_MAX:
                raise ServiceError(
                    f"the file is longer than {DOWNLOAD_BYTES_MAX} bytes", where=record.media_id
                )
            digest.update(chunk)
            file.write(chunk)
        return digest.digest()

    async def delete(self, media_id: str, phone_number_id: str | None = None) -> None:
        """Delete an uploaded file."""
        await self._caller.call("DELETE", media_id, query=_owner(phone_number_id))


def _owner(phone_number_id: str | None) -> Mapping[str, str]:
    return {} if phone_number_id is None else {"phone_number_id": phone_number_id}


def _require_hash(record: MediaRecord, digest: bytes) -> None:
    """Compare the hash with the service's. Services of this family write it in hex or in base64."""
    spellings = (digest.hex(), base64.b64encode(digest).decode())
    if record.sha256 and record.sha256 not in spellings and record.sha256.lower() != spellings[0]:
        raise ServiceError(
            "the file that arrived is not the one that the service names: its SHA-256 differs",
            where=record.media_id,
            remedy="download it again",
        )


def _opened(file: Path) -> Any:
    try:
        return file.open("rb")
    except OSError as error:
        raise ConfigurationError(f"the file cannot be read: {error.strerror}", where=str(file)) from error


def _created(file: Path) -> Any:
    """Create a file that only its owner can read, as people sent its content. Follows no link there."""
    try:
        return os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
    except OSError as error:
        raise ConfigurationError(f"the file cannot be written: {error.strerror}", where=str(file)) from error
