"""All pieces of an audience file, checked by several processes, in file order and in bounded memory.

Law: pieces are checked ahead as if each began and ended with a row. Where one does not, what was found ahead
is thrown away and the piece read in its turn, after the one before it: as if all were read in order.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from itertools import chain
from pathlib import Path
from queue import SimpleQueue
from typing import IO, cast

import campaigns
from campaigns.audience.reader import AudienceReader, Piece, joined
from campaigns.audience.row_check import is_literal
from campaigns.audience.staged_batch import CheckSpec, PieceCheck, StagedBatch, encode_for_copy
from engine.errors import DrumbeatError

# A process takes a third of a second to start, in which one thread checks 100,000 rows without it.
WORKERS_BYTES_MIN = 8 << 20
WORKERS_MAX = 4  # beyond it the COPY of one session is the limit
AHEAD_PER_WORKER = 2  # pieces: one in work, one waiting; about a mebibyte each
# A thousand characters of literals make seventy times as much of a file of phones; several pieces are held.
STAGED_CHARACTERS = 2 << 20  # of a piece, with its literals
ROW_CHARACTERS = 14  # of the shortest row: a phone and a line end
END_TIMEOUT_S = 5.0
_ROOT = Path(campaigns.__file__).parents[1]

CheckPiece = Callable[[Piece], StagedBatch | None]
Submit = Callable[[Piece], "Future[StagedBatch | None]"]
Ahead = tuple[Piece, "Future[StagedBatch | None]"]


class CheckProcessLost(DrumbeatError):
    """A process that checked rows ended before its work."""


def staged_batches(
    reader: AudienceReader, spec: CheckSpec, workers: int | None = None
) -> Generator[StagedBatch, None, None]:
    """Every piece of a file, checked. `workers`: processes; None: as the file and the machine's cores say.

    Raises what reading raises, and CheckProcessLost. Closing it ends its processes and threads.
    """
    count = worker_count(reader.total_bytes) if workers is None else workers
    check = PieceCheck(spec)
    with _submitting(spec, check, count) as submit:
        rest: Piece | None = None
        ahead = _ahead(_pieces(reader, spec), submit, AHEAD_PER_WORKER * max(1, count))
        current = next(ahead)
        for following in chain(ahead, (None,)):
            piece, result = current
            found = result.result() if rest is None else None
            if found is None:
                rows = reader.read(joined(rest, piece), final=following is None)
                rest, found = rows.rest, encode_for_copy(check.rows.check(rows.batch))
            yield found
            if following is not None:
                current = following


def worker_count(total_bytes: int) -> int:
    """Processes that are worth their start; 0 where this one does it as well."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, WORKERS_MAX) if cores > 1 and total_bytes >= WORKERS_BYTES_MIN else 0


def _pieces(reader: AudienceReader, spec: CheckSpec) -> Iterator[Piece]:
    """The file's pieces, smaller where literals make more of a row than stands in the file."""
    literals = sum(len(param) - 1 for param in spec.params if is_literal(param))
    characters = STAGED_CHARACTERS * ROW_CHARACTERS // (ROW_CHARACTERS + literals)
    for piece in reader.pieces():
        if literals and piece.text:
            yield from piece.parts(characters)
        else:
            yield piece


def _ahead(pieces: Iterator[Piece], submit: Submit, count: int) -> Iterator[Ahead]:
    waiting: deque[Ahead] = deque()
    for piece in pieces:
        waiting.append((piece, submit(piece)))
        if len(waiting) > count:
            yield waiting.popleft()
    while waiting:
        yield waiting.popleft()


@contextmanager
def _submitting(spec: CheckSpec, check: PieceCheck, count: int) -> Iterator[Submit]:
    """Threads that check pieces: each with a process that is free, or the one thread by itself."""
    idle: SimpleQueue[CheckPiece] = SimpleQueue()

    def check_with_any(piece: Piece) -> StagedBatch | None:
        checker = idle.get()
        try:
            return checker(piece)
        finally:
            idle.put(checker)

    with ExitStack() as stack:
        for _ in range(count):
            idle.put(stack.enter_context(closing(_Worker(spec))).check)
        if not count:
            idle.put(check)
        threads = ThreadPoolExecutor(max(1, count), "audience")
        stack.callback(threads.shutdown, wait=True, cancel_futures=True)
        yield lambda piece: threads.submit(check_with_any, piece)


class _Worker:
    """One process, on pipes. In a session of its own: a Ctrl-C is its parent's, whose end ends it."""

    def __init__(self, spec: CheckSpec) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "campaigns.audience.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(_ROOT)},
            start_new_session=True,
        )
        self._to = cast("IO[bytes]", self._process.stdin)
        self._from = cast("IO[bytes]", self._process.stdout)
        self._spec: CheckSpec | None = spec

    def check(self, piece: Piece) -> StagedBatch | None:
        try:
            if self._spec is not None:
                pickle.dump(self._spec, self._to)
                self._spec = None
            pickle.dump(piece, self._to, pickle.HIGHEST_PROTOCOL)
            self._to.flush()
            return cast("StagedBatch | None", pickle.load(self._from))  # noqa: S301 - our own
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            raise CheckProcessLost(
                "a process that checks the audience's rows ended", remedy="try again"
            ) from error

    def close(self) -> None:
        with suppress(OSError):  # it may have ended before
            self._to.close()
        try:
            self._process.wait(END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._from.close()
