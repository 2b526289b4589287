"""The standard streams of a command, whatever they are as it starts: cron, pipes and full disks are rough.

Law: what cannot be said stops nothing. Where nobody reads stderr any more, or its disk is full, lines are
lost and a campaign goes on; what cannot be written to stdout, the result, is told and ends with a code.
"""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

STDOUT, STDERR = 1, 2


class _Results(io.FileIO):
    """Remembers what kept it from being written."""

    problem: OSError | None = None

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except OSError as problem:
            self.problem = problem
            raise


class _Talk(io.FileIO):
    """Takes everything, and drops what it cannot write."""

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            written = super().write(data)
        except OSError:
            written = None
        return memoryview(data).nbytes if written is None else written


def secure_streams() -> None:
    """Put ours in the place of stdout and stderr. One that is closed becomes one that takes everything: the
    next thing opened, such as a connection, would get its number, and what is said would be written there.
    """
    for descriptor in range(STDERR + 1):
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest number that is free
    if sys.stdout is not None:
        sys.stdout = _text(_Results(STDOUT, "w", closefd=False), sys.stdout, by_line=sys.stdout.isatty())
    sys.stderr = _text(_Talk(STDERR, "w", closefd=False), sys.stderr, by_line=True)


def unwritten() -> OSError | None:
    """What keeps stdout from being written, or None."""
    try:
        if sys.stdout is not None:  # as after `>&-`
            sys.stdout.flush()
    except OSError as problem:
        return problem
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    return raw.problem if isinstance(raw, _Results) else None


def forsake_stdout() -> None:
    """Nothing more goes there, or Python tells of it as it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), STDOUT)


def _text(raw: io.RawIOBase, former: TextIO | None, *, by_line: bool) -> TextIO:
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding="utf-8" if former is None else former.encoding,
        errors="backslashreplace" if former is None else former.errors,
        line_buffering=by_line,
    )
