"""The renewal of header files: it uploads those of running campaigns before their ids at the service end."""

import time

from drumbeat.engine.clock import monotonic_ns
from drumbeat.engine.process.event_log import get_logger
from drumbeat.engine.sending.campaign_cache import CampaignCache
from drumbeat.engine.sending.header_file_uploads import FileUploads, OpenUploads
from drumbeat.engine.sending.header_files import RENEW_BEFORE_S
from drumbeat.engine.sending.messages import RunningCampaign
from drumbeat.engine.store.database import Pool
from drumbeat.engine.store.header_files import uploads_of

PERIOD_S = 60.0  # seconds between two tries

log = get_logger(__name__)


class HeaderFileRenewal:
    """A renewal. Any process that sends a campaign uploads its files for all of its numbers."""

    def __init__(self, pool: Pool, cache: CampaignCache, open_uploads: OpenUploads) -> None:
        self._pool = pool
        self._cache = cache
        self._open_uploads = open_uploads
        self._after_s = 0.0

    @property
    def is_due(self) -> bool:
        return time.monotonic() >= self._after_s and bool(self._due())

    async def run(self) -> None:
        """Try once. A failure is logged. Once nothing can be sent, it is shown as the campaign's reason."""
        self._after_s = time.monotonic() + PERIOD_S
        for campaign in self._due():
            try:
                await self._renew(campaign)
            except Exception as problem:  # a lost file or a service that is away must not end the process
                self._failed(campaign, problem)

    def _due(self) -> list[RunningCampaign]:
        now_ns = monotonic_ns()
        running = [self._cache[campaign_id] for campaign_id in self._cache.running]
        return [each for each in running if each.files is not None and each.files.is_due(now_ns)]

    async def _renew(self, campaign: RunningCampaign) -> None:
        async with self._pool.acquire(timeout=5) as connection:
            uploads = await uploads_of(connection, campaign.campaign_id, campaign.phone_number_ids)
        due = [upload for upload in uploads if upload.is_listed and upload.valid_s < RENEW_BEFORE_S]
        async with self._open_uploads() as upload_file:
            files = FileUploads(self._pool, upload_file)
            for upload in due:
                await files.ensure(upload.file, upload.phone_number_id)
        if campaign.files is not None:
            campaign.files.problem = ""
            campaign.files.read_again_ns = 0
        log.info("header_files_uploaded", **self._fields(campaign), uploads=len(due))

    def _failed(self, campaign: RunningCampaign, problem: Exception) -> None:
        reason = str(problem) or type(problem).__name__
        if campaign.files is not None:
            campaign.files.problem = reason
        log.warning("header_files_not_uploaded", **self._fields(campaign), problem=reason)

    def _fields(self, campaign: RunningCampaign) -> dict[str, object]:
        return self._cache.log_fields(campaign.campaign_id)
