"""Uploads of the files of headers, made while a campaign is planned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drumbeat.engine.process.settings import Settings

if TYPE_CHECKING:  # most campaigns have no file to upload
    from contextlib import AbstractAsyncContextManager

    from drumbeat.engine.sending.header_file_uploads import OpenUploads, UploadFile


def uploads_with(settings: Settings) -> OpenUploads:
    """Return a function that connects to the service, which is called only if there is an upload. It raises
    ConfigurationError if the settings of the service are incomplete.
    """

    def open_uploads() -> AbstractAsyncContextManager[UploadFile]:
        from drumbeat.engine.api.service import uploading  # imports aiohttp, a third of a command's start

        return uploading(settings.service())

    return open_uploads
