"""The standard streams of a command, which may be closed, broken pipes or on a full disk.

Law: a failed write to stderr stops nothing. The lines are lost and the campaign continues. A failed write to
stdout, the result, is reported and sets the exit code.
"""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

STDOUT, STDERR = 1, 2


class _Stdout(io.FileIO):
    """A stdout that remembers the error of a failed write."""

    problem: OSError | None = None

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except OSError as problem:
            self.problem = problem
            raise


class _Stderr(io.FileIO):
    """A stderr that drops what it cannot write."""

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            written = super().write(data)
        except OSError:
            written = None
        return memoryview(data).nbytes if written is None else written


def secure_streams() -> None:
    """Replace stdout and stderr by these classes, and open closed streams on /dev/null. Otherwise the next
    connection would get the stream's descriptor, and output would be written to it.
    """
    for descriptor in range(STDERR + 1):
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # gets the lowest free descriptor
    if sys.stdout is not None:
        sys.stdout = _text(_Stdout(STDOUT, "w", closefd=False), sys.stdout, by_line=sys.stdout.isatty())
    sys.stderr = _text(_Stderr(STDERR, "w", closefd=False), sys.stderr, by_line=True)


def stdout_error() -> OSError | None:
    """Return the error of a failed write to stdout, or None."""
    try:
        if sys.stdout is not None:  # None after `>&-`
            sys.stdout.flush()
    except OSError as problem:
        return problem
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    return raw.problem if isinstance(raw, _Stdout) else None


def discard_stdout() -> None:
    """Send stdout to /dev/null: Python would report another failed write when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), STDOUT)


def _text(raw: io.RawIOBase, former: TextIO | None, *, by_line: bool) -> TextIO:
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding="utf-8" if former is None else former.encoding,
        errors="backslashreplace" if former is None else former.errors,
        line_buffering=by_line,
    )
