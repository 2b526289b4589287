"""The unpacking of gzip, zip and zstd to a temporary file, and of standard input into one.

An unpacked file is limited in size, and in size compared with the packed one: a bomb is refused before it
fills the disk.
"""

import gzip
import os
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import PurePath
from typing import BinaryIO

from drumbeat.campaigns.audience.open.encoding import UnreadableAudience
from drumbeat.campaigns.audience.open.formats import Packing, needs_password
from drumbeat.campaigns.audience.open.temporary_file import (
    TEMPORARY_BYTES_MAX,
    temporary_file,
    temporary_file_errors,
)

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

COPY_BYTES = 1 << 20
RATIO_MAX = 250  # tables of people shrink to a tenth, monotonous ones to a hundredth; bombs to a thousandth
RATIO_FREE_BYTES = 64 << 20  # a smaller file harms nobody
FAILURE = "the audience cannot be unpacked"
_DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error, zstd.ZstdError, zipfile.BadZipFile, NotImplementedError)
_HIDDEN = "__MACOSX/"  # macOS adds this folder to a zip


def unpack(packed: BinaryIO, packing: Packing, name: str) -> BinaryIO:
    """Return the content of a packed file as a temporary file at its start.

    Raise UnreadableAudience if it is cut off or damaged, needs a password, holds several files or is a bomb.
    """
    packed.seek(0)
    with _opened(packed, packing, name) as content:
        size = os.fstat(packed.fileno()).st_size
        return _copied(_reading(content, packing, name), name, max(RATIO_FREE_BYTES, RATIO_MAX * size))


def read_stream(stream: BinaryIO, name: str) -> BinaryIO:
    """Return all of a stream as a temporary file at its start."""
    return _copied(lambda: stream.read(COPY_BYTES), name, TEMPORARY_BYTES_MAX)


@contextmanager
def _opened(packed: BinaryIO, packing: Packing, name: str) -> Iterator[BinaryIO]:
    if packing is Packing.GZIP:
        with gzip.GzipFile(fileobj=packed) as content:
            yield content  # type: ignore[misc]  # the three read like any file
    elif packing is Packing.ZSTD:
        with zstd.ZstdFile(packed) as content:
            yield content  # type: ignore[misc]
    else:
        with ExitStack() as stack:
            with _damage_named(packing, name):
                archive = stack.enter_context(zipfile.ZipFile(packed))
                member = stack.enter_context(archive.open(_only_member(archive, name)))
            yield member  # type: ignore[misc]


def _only_member(archive: zipfile.ZipFile, name: str) -> zipfile.ZipInfo:
    members = [
        info for info in archive.infolist() if not info.is_dir() and not info.filename.startswith(_HIDDEN)
    ]
    if len(members) != 1:
        listed = ", ".join(PurePath(info.filename).name for info in members[:10]) or "none"
        raise UnreadableAudience(
            f"the zip holds {len(members)} files ({listed}), not one", where=name, remedy="unpack it first"
        )
    if needs_password(members[0]):
        raise UnreadableAudience("the zip needs a password", where=name, remedy="unpack it first")
    return members[0]


def _reading(content: BinaryIO, packing: Packing, name: str) -> Callable[[], bytes]:
    def read() -> bytes:
        with _damage_named(packing, name):
            return content.read(COPY_BYTES)

    return read


@contextmanager
def _damage_named(packing: Packing, name: str) -> Iterator[None]:
    try:
        yield
    except _DAMAGED as error:
        raise UnreadableAudience(
            f"the {packing} file is cut off or damaged: {error}", where=name, remedy="copy or export it again"
        ) from error


def _copied(read: Callable[[], bytes], name: str, bytes_max: int) -> BinaryIO:
    with temporary_file_errors(FAILURE), ExitStack() as stack:
        file = stack.enter_context(temporary_file())
        written = 0
        while chunk := read():
            written += len(chunk)
            _require_bounded(written, min(bytes_max, TEMPORARY_BYTES_MAX), name)
            file.write(chunk)
        file.seek(0)
        stack.pop_all()  # the caller closes the file now
        return file


def _require_bounded(written: int, bytes_max: int, name: str) -> None:
    if written > bytes_max:
        raise UnreadableAudience(
            f"it unpacks to more than {bytes_max:,} bytes, and may be a bomb",
            where=name,
            remedy="unpack it first, if you trust it",
        )
