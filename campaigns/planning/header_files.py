"""The local files in the headers of a campaign that is being created: found, hashed and uploaded."""

import asyncio
from collections.abc import Collection, Iterator, Sequence
from itertools import product
from pathlib import Path

from drumbeat.campaigns.audience.check.header_media import file_problem
from drumbeat.campaigns.options.param_texts import is_link
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.progress import PlanProgress, ProgressCallback
from drumbeat.campaigns.reject import REASONS
from drumbeat.engine.core.header_file import HEAD_BYTES, mime_type
from drumbeat.engine.errors import ConfigurationError, UsageError
from drumbeat.engine.sending.header_file_uploads import FileUploads, OpenUploads, sha256_of
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.header_files import HeaderFile

# Files times numbers. Each upload is a call of half a second, and its id is in the memory of every process
# that sends the campaign. For more files, links are the way.
UPLOADS_MAX = 20_000
AT_ONCE = 4  # the client holds as many connections


def require_header_file(kind: str, path: Path) -> None:
    """Raise UsageError unless a header of this kind can show the one file of all recipients."""
    try:
        problem = file_problem(kind, path)
    except OSError:
        problem = "media_unreadable"
    if problem is not None:
        raise UsageError(
            f"{{header_file}} {{path}} cannot be sent as {kind}: {REASONS[problem]}", values={"path": path}
        )


def header_content(spec: CampaignSpec) -> str | None:
    """Return the identity of the one link or file of all headers: the link, or the hash of the file; None if
    there is neither.

    Raise ConfigurationError if the file cannot be read.
    """
    if spec.header is None or spec.header_file is None:
        return None
    named = spec.header[1:]
    return named if is_link(named) else sha256_of(spec.media_directory / named)


def require_few_files(files: Collection[str], numbers: Sequence[str], where: str) -> None:
    """Raise ConfigurationError if the files of an audience are more than Drumbeat uploads."""
    if len(files) * len(numbers) > UPLOADS_MAX:
        raise ConfigurationError(
            f"the header names {len(files):,} files for {len(numbers):,} numbers; {UPLOADS_MAX:,} uploads are"
            " the most",
            where=where,
            remedy="put the files on a web server, and name them by HTTPS links",
        )


def header_files(kind: str, directory: Path, references: Collection[str]) -> list[HeaderFile]:
    """Return the files as they are now. Raise ConfigurationError if one was removed since it was checked."""
    return [_header_file(kind, directory, reference) for reference in sorted(references)]


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


async def upload_files(
    connection: Connection,
    open_uploads: OpenUploads,
    files: Sequence[HeaderFile],
    numbers: Sequence[str],
    progress: ProgressCallback,
) -> None:
    """Upload each content for each number, unless the service has it already.

    Nothing of the campaign is stored at that time. The uploads are stored, so that the next create does not
    repeat them.
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
