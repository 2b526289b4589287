"""The local files in the headers of a campaign that is being created: hashed and uploaded."""

import asyncio
from collections.abc import Collection, Iterator, Sequence
from itertools import product

from drumbeat.campaigns.audience.check.header_media import HeaderMedia
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.opened.step import Session
from drumbeat.campaigns.planning.staged.step import Staged
from drumbeat.campaigns.progress import PlanProgress
from drumbeat.engine.core.template.header_file import HEAD_BYTES, mime_type
from drumbeat.engine.errors import ConfigurationError
from drumbeat.engine.sending.header_file_uploads import FileUploads, OpenUploads, sha256_of
from drumbeat.engine.store.header_files import HeaderFile

# Files times numbers. Each upload is a call of half a second, and its id is in the memory of every process
# that sends the campaign. For more files, links are the way.
UPLOADS_MAX = 20_000
AT_ONCE = 4  # the client holds as many connections


async def uploaded_files(
    session: Session, spec: CampaignSpec, staged: Staged, open_uploads: OpenUploads
) -> list[HeaderFile]:
    """Upload the files that the rows name for each number, unless the service has them, and return them.

    Nothing of the campaign is stored at that time. The uploads are stored, so that the next create does not
    repeat them. Raise ConfigurationError if there are more files than Drumbeat uploads, or if one was removed
    since it was checked.
    """
    media, references, numbers = staged.filling.rules.media, staged.rows.files, spec.phone_number_ids
    if media is None or not references:
        return []
    if len(references) * len(numbers) > UPLOADS_MAX:
        raise ConfigurationError(
            f"the header names {len(references):,} files for {len(numbers):,} numbers; {UPLOADS_MAX:,}"
            " uploads are the most",
            where=spec.audience_name,
            remedy="put the files on a web server, and name them by HTTPS links",
        )
    files = await asyncio.to_thread(_header_files, media, references)
    await _upload(session, open_uploads, files, numbers)
    return files


def _header_files(media: HeaderMedia, references: Collection[str]) -> list[HeaderFile]:
    """Return the files as they are now."""
    return [_header_file(media, reference) for reference in sorted(references)]


def _header_file(media: HeaderMedia, reference: str) -> HeaderFile:
    path = (media.directory / reference).resolve()
    sha256 = sha256_of(path)
    with path.open("rb") as content:
        found = mime_type(media.kind, path.name, content.read(HEAD_BYTES))
    if found is None:
        raise ConfigurationError(
            "the header file changed while it was read", where=str(path), remedy="create the campaign again"
        )
    return HeaderFile(reference, str(path), sha256, found)


async def _upload(
    session: Session, open_uploads: OpenUploads, files: Sequence[HeaderFile], numbers: Sequence[str]
) -> None:
    """Upload each content for each number, unless the service has it already."""
    wanted = list(
        {
            (file.sha256, file.mime_type, number): (file, number) for file, number in product(files, numbers)
        }.values()
    )
    left = iter(wanted)
    done = 0

    async def work(uploads: FileUploads, left: Iterator[tuple[HeaderFile, str]]) -> None:
        nonlocal done
        for file, number in left:
            await uploads.ensure(file, number)
            done += 1
            session.progress(PlanProgress("uploading", done, len(wanted), done))

    async with open_uploads() as upload:
        uploads = FileUploads(session.connection, upload)
        workers = [asyncio.create_task(work(uploads, left)) for _ in range(min(AT_ONCE, len(wanted)))]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.wait(workers)
