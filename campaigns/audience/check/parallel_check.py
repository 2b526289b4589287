"""The check of an audience file's pieces in several processes. Results come in file order; memory is bounded.

Law: pieces are checked ahead as if each began and ended with a complete row. If one does not, its result is
discarded, and this process reads the piece again after the one before it. The result is the same as if one
process read all pieces in order.

These are processes of our own, not a ProcessPoolExecutor. It would import the main module again in each
worker, which made planning 30 % slower, and it would leave Python's resource tracker running.
"""

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

from drumbeat import campaigns
from drumbeat.campaigns.audience.check.staged_batch import CheckSpec, PieceCheck, StagedBatch, encode_for_copy
from drumbeat.campaigns.audience.open.reader import AudienceTable, Piece, joined
from drumbeat.engine.errors import DrumbeatError

# A process takes a third of a second to start. In that time, one thread checks 100,000 rows.
WORKERS_BYTES_MIN = 8 << 20
WORKERS_MAX = 4  # with more, the COPY of one session is the limit
AHEAD_PER_WORKER = 2  # pieces of about a mebibyte: one is checked, one waits
# Fixed texts of a thousand characters make a file of phones seventy times as large, and several pieces are in
# memory.
STAGED_CHARACTERS = 2 << 20  # characters of a piece with its fixed texts
ROW_CHARACTERS = 14  # characters of the shortest row: a phone and a line end
END_TIMEOUT_S = 5.0
_ROOT = Path(campaigns.__file__).parents[2]

CheckPiece = Callable[[Piece], StagedBatch | None]
Submit = Callable[[Piece], "Future[StagedBatch | None]"]
Ahead = tuple[Piece, "Future[StagedBatch | None]"]


class CheckProcessLost(DrumbeatError):
    """A process that checked rows ended early."""


def staged_batches(
    reader: AudienceTable, spec: CheckSpec, workers: int | None = None
) -> Generator[StagedBatch, None, None]:
    """Check every piece of a table. `workers` is the number of processes; None chooses it by the file's size
    and the cores.

    Raise the errors of reading, and CheckProcessLost. Closing the generator ends its processes and threads.
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
    """Return how many processes to start; 0 if this process alone is as fast."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, WORKERS_MAX) if cores > 1 and total_bytes >= WORKERS_BYTES_MIN else 0


def _pieces(reader: AudienceTable, spec: CheckSpec) -> Iterator[Piece]:
    """Give the file's pieces. They are smaller if fixed texts make the rows longer than in the file."""
    fixed_text = sum(map(len, spec.rules.literals)) + sum(map(len, spec.rules.defaults.values()))
    characters = STAGED_CHARACTERS * ROW_CHARACTERS // (ROW_CHARACTERS + fixed_text)
    for piece in reader.pieces():
        if fixed_text and piece.text:
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
    """Give a function that has pieces checked by threads, each with an idle process. Without processes, one
    thread checks alone.
    """
    idle: SimpleQueue[CheckPiece] = SimpleQueue()

    def check_with_any(piece: Piece) -> StagedBatch | None:
        checker = idle.get()
        try:
            return checker(piece)
        finally:
            idle.put(checker)

    with ExitStack() as stack:
        for _ in range(count):
            idle.put(stack.enter_context(closing(_CheckProcess(spec))).check)
        if not count:
            idle.put(check)
        threads = ThreadPoolExecutor(max(1, count), "audience")
        stack.callback(threads.shutdown, wait=True, cancel_futures=True)
        yield lambda piece: threads.submit(check_with_any, piece)


class _CheckProcess:
    """A process, connected by pipes. A Ctrl-C does not reach its session; it ends when its parent ends."""

    def __init__(self, spec: CheckSpec) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "drumbeat.campaigns.audience.check.check_process"],
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
        with suppress(OSError):  # it may have ended already
            self._to.close()
        try:
            self._process.wait(END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._from.close()
