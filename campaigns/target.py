"""Where a file is written that a user named: whole or not at all, and never over what it is made from."""

from __future__ import annotations

import os
import secrets
import stat
from dataclasses import dataclass
from pathlib import Path

from engine.errors import UsageError

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

    def open(self, mode: int = 0o666) -> int:
        """A descriptor of the draft; waits for the reader of a named pipe, as a shell does."""
        if self.is_direct:
            return os.open(self.draft, os.O_WRONLY | os.O_APPEND)
        return os.open(self.draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)

    def publish(self) -> None:
        """The draft is complete: now it may be seen."""
        if not self.is_direct:
            self.draft.replace(self.path)

    def drop(self) -> None:
        """Leave nothing that was not published."""
        if not self.is_direct:
            self.draft.unlink(missing_ok=True)


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
