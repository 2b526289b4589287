"""The local files in the headers of a campaign that is being created: found, hashed and uploaded."""

import asyncio
from collections.abc import Collection, Iterator, Sequence
from itertools import product
from pathlib import Path

from campaigns.audience.header_media import HeaderMedia, file_problem, is_link
from campaigns.audience.reject_file import REASONS
from campaigns.audience.row_check import RowRules
from campaigns.planning.plan import PlanProgress, ProgressCallback
from campaigns.planning.spec import CampaignSpec
from engine.core.header_file import HEAD_BYTES, mime_type
from engine.errors import ConfigurationError, UsageError
from engine.sending.header_file_uploads import FileUploads, OpenUploads, sha256_of
from engine.store.database import Connection
from engine.store.header_files import HeaderFile

# Files times numbers. Each upload is a call of half a second, and its id is in the memory of every process
# that sends the campaign. For more files, links are the way.
UPLOADS_MAX = 20_000
AT_ONCE = 4  # the client holds as many connections


def require_header_file(kind: str, path: Path) -> None:
    """UsageError unless a header of this kind can show the one file of all recipients."""
    try:
        problem = file_problem(kind, path)
    except OSError:
        problem = "media_unreadable"
    if problem is not None:
        raise UsageError(f"--header-file {path} cannot be sent as {kind}: {REASONS[problem]}")


def header_content(spec: CampaignSpec) -> str | None:
    """What identifies the one link or file of all headers: the link, or the hash of the file. None without.

    ConfigurationError if the file cannot be read.
    """
    if spec.header is None or spec.header_column is not None:
        return None
    named = spec.header[1:]
    return named if is_link(named) else sha256_of(spec.media_directory / named)


def _require_few(files: Collection[str], numbers: Sequence[str], where: str) -> None:
    if len(files) * len(numbers) > UPLOADS_MAX:
        raise ConfigurationError(
            f"the header names {len(files):,} files for {len(numbers):,} numbers; {UPLOADS_MAX:,} uploads are"
            " the most",
            where=where,
            remedy="put the files on a web server, and name them by HTTPS links",
        )


async def upload_named(
    connection: Connection,
    open_uploads: OpenUploads,
    spec: CampaignSpec,
    rules: RowRules,
    named: Collection[str],
    progress: ProgressCallback,
) -> Sequence[HeaderFile]:
    """Upload the files that the rows name. Errors as `_found` and the service's client."""
    if rules.media is None or not named:
        return ()
    numbers = spec.phone_number_ids
    files = await _found(rules.media, named, numbers, spec.audience_name)
    await _upload(connection, open_uploads, files, numbers, progress)
    return files


async def _found(
    media: HeaderMedia, references: Collection[str], numbers: Sequence[str], where: str
) -> list[HeaderFile]:
    """The files as they are now. ConfigurationError if one was removed since its row was read, or if they are
    more than Drumbeat uploads.
    """
    _require_few(references, numbers, where)
    return await asyncio.to_thread(
        lambda: [_header_file(media.kind, media.directory, reference) for reference in sorted(references)]
    )


def _header_file(kind: str, directory: Path, reference: str) -> HeaderFile:
    path = (directory / reference).resolve()
    sha256 = sha256_of(path)
    with path.open("rb") as content:
        found = mime_type(kind, path.name, content.read(HEAD_BYTES))
    if found is None:
        raise ConfigurationError(
            "the header file changed while it was read", where=str(path), remedy="create the campaign again"
        )
    return HeaderFile(reference, str(path), sha256, found)


async def _upload(
    connection: Connection,
    open_uploads: OpenUploads,
    files: Sequence[HeaderFile],
    numbers: Sequence[str],
    progress: ProgressCallback,
) -> None:
    """Upload each content for each number, unless the service has it already. Nothing of the campaign is
    stored then; the uploads are, so that the next create does not repeat them.
    """
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
            progress(PlanProgress("uploading", done, len(wanted), done))

    async with open_uploads() as upload:
        uploads = FileUploads(connection, upload)
        workers = [asyncio.create_task(work(uploads, left)) for _ in range(min(AT_ONCE, len(wanted)))]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.wait(workers)
