"""Files that were uploaded to be sent."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from drumbeat.engine.api.service import Service
from drumbeat.engine.core.media_limits import REUSE_DAYS


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """A file at the service. Its id can be sent by its number until `expires_at`."""

    media_id: str
    phone_number_id: str
    expires_at: datetime


async def upload_file(
    service: Service, phone_number_id: str, file: Path, mime_type: str | None
) -> UploadedFile:
    """Upload a file for a number."""
    began_at = datetime.now(UTC)
    media_id = await service.media.upload(phone_number_id, file, mime_type)
    return UploadedFile(media_id, phone_number_id, began_at + timedelta(days=REUSE_DAYS))
