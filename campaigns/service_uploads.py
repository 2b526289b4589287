"""Uploads of header files with the service that the settings name."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from engine.process.settings import Settings
    from engine.sending.header_file_uploads import OpenUploads, UploadFile


def uploads_with(settings: Settings) -> OpenUploads:
    """Connects to the service only if something is uploaded. ConfigurationError then, if its settings are
    incomplete.
    """

    def open_uploads() -> AbstractAsyncContextManager[UploadFile]:
        from engine.api.service import uploading  # imports aiohttp, a third of a command's start

        return uploading(settings.service())

    return open_uploads
