"""Uploads of the files of headers, made while a campaign is planned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.process.settings import Settings

if TYPE_CHECKING:  # most campaigns have no file to upload
    from contextlib import AbstractAsyncContextManager

    from engine.sending.header_file_uploads import OpenUploads, UploadFile


def uploads_with(settings: Settings) -> OpenUploads:
    """Connects to the service for uploads, only if there is one. ConfigurationError then, if its settings are
    incomplete.
    """

    def open_uploads() -> AbstractAsyncContextManager[UploadFile]:
        from engine.api.service import uploading  # imports aiohttp, a third of a command's start

        return uploading(settings.service())

    return open_uploads
