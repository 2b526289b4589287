"""A process that checks pieces of an audience file. `parallel_check` starts it, connected by pipes.

It reads a pickled `CheckSpec`, then answers each `Piece` with a `StagedBatch` or None. Only the two processes
use the pipes. It ends when its input ends, which also happens if its parent is killed.
"""

import contextlib
import gc
import pickle
import sys
from typing import BinaryIO

from drumbeat.campaigns.audience.check.staged_batch import CheckSpec, PieceCheck
from drumbeat.campaigns.audience.open.reader import Piece


def main(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    # A piece makes a hundred thousand short-lived lists and no cycles. The garbage collector would take as
    # long as all checks.
    gc.disable()
    spec: CheckSpec = pickle.load(incoming)  # noqa: S301 - from the parent
    check = PieceCheck(spec)
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            piece: Piece = pickle.load(incoming)  # noqa: S301 - from the parent
            pickle.dump(check(piece), outgoing, pickle.HIGHEST_PROTOCOL)
            outgoing.flush()


if __name__ == "__main__":
    main(sys.stdin.buffer, sys.stdout.buffer)
