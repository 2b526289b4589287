"""Where a file is written that a user named: whole or not at all, and never over what it is made from."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import stat
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from engine.errors import UsageError

ABANDONED_S = 60.0  # far more than lies between making a draft and its lock, or its last byte and its place
# Names of what is open already, perhaps a regular file that others write to as well: never replaced.
STREAMS = ("/dev/fd", "/dev/stdout", "/dev/stderr", "/proc")


@dataclass(frozen=True, slots=True)
class Target:
    """`draft` is written, then takes the place of `path`; where both are the same there is nothing to do."""

    path: Path
    draft: Path

    @property
    def is_direct(self) -> bool:
        """Whether it is a device or a pipe, and what is written cannot be taken back."""
        return self.draft == self.path

    def open(self) -> int:
        """A descriptor of the draft, which only its owner reads: all that is written so holds phone numbers.

        Waits for the reader of a named pipe, as a shell does.
        """
        if self.is_direct:
            return os.open(self.draft, os.O_WRONLY | os.O_APPEND)
        drop_abandoned(self.path)
        descriptor = os.open(self.draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with suppress(OSError):  # some file systems know no locks; then nobody drops a draft of another
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return descriptor

    def publish(self) -> None:
        """The draft is complete: now it may be seen."""
        if not self.is_direct:
            self.draft.replace(self.path)

    def drop(self) -> None:
        """Leave nothing that was not published."""
        if not self.is_direct:
            self.draft.unlink(missing_ok=True)


def drop_abandoned(path: Path) -> None:
    """Remove drafts of this file whose writers were killed: they hold phone numbers, and nobody would look.

    Who writes holds a lock. A draft just made, or just being published, may have none: it is young.
    """
    of_this = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{8}}")
    with suppress(OSError):
        for draft in [found for found in path.parent.iterdir() if of_this.fullmatch(found.name)]:
            _drop_if_abandoned(draft)


def _drop_if_abandoned(draft: Path) -> None:
    with suppress(OSError), draft.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if time.time() - draft.stat().st_mtime > ABANDONED_S:
            draft.unlink()


def target_of(path: Path) -> Target:
    """A rename would put a file where a device, a pipe or a link is: the first two are written to, the link
    is followed.
    """
    if _is_no_file(path) or str(path.absolute()).startswith(STREAMS):
        return Target(path, path)
    followed = Path(os.path.realpath(path))
    return Target(followed, followed.with_name(f".{followed.name}.{secrets.token_hex(4)}"))


def require_another(path: Path, source: Path, option: str) -> None:
    """UsageError where `path`, by whatever name, is the file that is read."""
    try:
        is_same = path.samefile(source)
    except OSError:
        return
    if is_same:
        raise UsageError(
            "the list of bad rows would overwrite the file that is read",
            where=str(path),
            remedy=f"name another file with {option}",
        )


def _is_no_file(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
