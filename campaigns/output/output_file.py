"""Output files: a file appears complete or not at all, and never replaces the file it is made from.

Law: no link is followed. Another user of this machine may have put it there, to have a file of yours replaced
or to get phone numbers.
"""

import fcntl
import os
import re
import secrets
import stat
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from drumbeat.engine.errors import ConfigurationError, UsageError

ABANDONED_S = 60.0  # a draft without a lock is younger: it was just created, or is about to be published
# Streams that are open already. Others may write to them, so they are never replaced.
_STREAM = re.compile(r"/dev/(fd/[0-9]+|stdin|stdout|stderr)|/proc/(self|[0-9]+)/fd/[0-9]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class OutputFile:
    """An output file: `draft`, when complete, replaces `path`. For a device or a pipe, both are the same."""

    path: Path
    draft: Path

    @property
    def is_direct(self) -> bool:
        """Return whether it is a device or a pipe, where written data cannot be taken back."""
        return self.draft == self.path

    def open(self) -> int:
        """Open the draft and return its descriptor. Only the owner may read it, since it holds phone numbers.

        Waits for the reader of a named pipe, as a shell does.
        """
        if self.is_direct:
            follow = 0 if is_stream(self.path) else os.O_NOFOLLOW
            return os.open(self.draft, os.O_WRONLY | os.O_APPEND | follow)
        drop_abandoned(self.path)
        descriptor = os.open(self.draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with suppress(OSError):  # a file system without locks: then nobody drops drafts either
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return descriptor

    def publish(self) -> None:
        """Put the complete draft in its place."""
        if not self.is_direct:
            self.draft.replace(self.path)

    def drop(self) -> None:
        """Remove the draft unless it was published."""
        if not self.is_direct:
            self.draft.unlink(missing_ok=True)


def drop_abandoned(path: Path) -> None:
    """Remove drafts of this file whose writers were killed, since they hold phone numbers.

    A writer locks its draft. A draft that was just created, or is about to be published, may have no lock, so
    only older ones are removed.
    """
    of_this = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{8}}")
    with suppress(OSError):
        for draft in [found for found in path.parent.iterdir() if of_this.fullmatch(found.name)]:
            _drop_if_abandoned(draft)


def _drop_if_abandoned(draft: Path) -> None:
    # A file with such a name may be a pipe, on which a reader would wait.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    with suppress(OSError), os.fdopen(os.open(draft, flags), "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if time.time() - os.fstat(file.fileno()).st_mtime > ABANDONED_S:
            draft.unlink()


def output_file(path: Path) -> OutputFile:
    """Return the file for this path. Devices and pipes are written to directly: a rename would replace them.
    Raise ConfigurationError for a link.
    """
    if is_stream(path):
        return OutputFile(path, path)
    if path.is_symlink():
        raise ConfigurationError(
            "the file to write is a link, and links are not followed",
            where=str(path),
            remedy=f"name the file itself: {os.path.realpath(path)}",
        )
    if _is_no_file(path):
        return OutputFile(path, path)
    return OutputFile(path, path.with_name(f".{path.name}.{secrets.token_hex(4)}"))


def is_stream(path: Path) -> bool:
    """Return whether the path names a stream that is open already, such as /dev/stdout, which is a link."""
    return _STREAM.fullmatch(str(path.absolute())) is not None


def require_other_file(path: Path, source: Path, key: str) -> None:
    """Raise UsageError if `path` is the same file as `source`."""
    try:
        is_same = path.samefile(source)
    except OSError:
        return
    if is_same:
        raise UsageError(
            "the output would overwrite the file that is read",
            where=str(path),
            remedy=f"name another file with {{{key}}}",
            values={},
        )


def _is_no_file(path: Path) -> bool:
    try:
        mode = path.lstat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
