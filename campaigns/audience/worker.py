"""A process that checks pieces of an audience file: `python -m campaigns.audience.worker`, on pipes.

It is told a `CheckSpec`, then answers each `Piece` with its `StagedBatch` or None, pickled. Both ends of the
pipes are ours alone. It ends when its input ends, so also with a parent that was killed.
"""

from __future__ import annotations

import contextlib
import gc
import pickle
import sys
from typing import BinaryIO

from campaigns.audience.reader import Piece
from campaigns.audience.staged_batch import CheckSpec, PieceCheck


def main(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    # A piece makes a hundred thousand lists that live for milliseconds, and no cycles: looking for some
    # costs as much as all the checks.
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
