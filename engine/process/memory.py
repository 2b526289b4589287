"""Memory that is given back: how often the interpreter looks for cycles, and what the C library keeps."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

# New objects between two looks: a few milliseconds each, well within the lateness that a pace forgives.
COLLECTION_OBJECTS = 50_000
READ_BYTES = 256 * 1024  # what uvloop asks for, and cuts to size, with each read over TLS


@contextmanager
def rare_collections() -> Iterator[None]:
    """In the block, look for cycles once in COLLECTION_OBJECTS, and not among the objects of before.

    At the default, a look for each 700 new objects, the looks took an eighth of a sender's CPU and a seventh
    of the time of a body of a hundred statuses, and paused for longer.
    """
    usual = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(COLLECTION_OBJECTS, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)
        gc.unfreeze()


def keep_large_blocks() -> None:
    """Have the C library keep blocks of READ_BYTES for the next that asks, for the rest of the process.

    glibc maps a block beyond a threshold anew each time and unmaps it, and raises the threshold only to what
    was given back whole. Two reads a message over TLS took as much as all else that lanes do. Most imports
    happen to raise it far enough; this does not leave it to them. No effect where there is no threshold, nor
    where MALLOC_... or GLIBC_TUNABLES in the environment fix it.
    """
    bytes(4 * READ_BYTES)
