"""The memory tuning: rarer garbage collections, and large blocks that the C library keeps for reuse."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

# New objects between two collections. Each collection takes a few milliseconds, which is well within the
# lateness that the pacer makes up for.
COLLECTION_OBJECTS = 50_000
READ_BYTES = 256 * 1024  # uvloop allocates this much for each TLS read, then shrinks it to what arrived


@contextmanager
def rare_collections() -> Iterator[None]:
    """Collect garbage once in COLLECTION_OBJECTS new objects in the block, and skip all earlier objects.

    The default, a collection for every 700 new objects, took an eighth of a sender's CPU and a seventh of the
    time to read a body of a hundred statuses. Its pauses were longer, too.
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
    """Make the C library reuse blocks of READ_BYTES, for the rest of the process.

    glibc maps and unmaps every block above a threshold, and raises the threshold only to the size of a block
    that was freed whole. With TLS, the two reads of a message then cost as much as all other work of a lane.
    Most imports happen to raise the threshold far enough; this call makes sure. It has no effect without such
    a threshold, or if MALLOC_... or GLIBC_TUNABLES in the environment set it.
    """
    bytes(4 * READ_BYTES)
