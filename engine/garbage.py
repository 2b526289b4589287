"""How often the interpreter looks for cycles: seldom, since nearly all that is made here has none."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

# New objects between two looks: a few milliseconds each, well within the lateness that a pace forgives.
COLLECTION_OBJECTS = 50_000


@contextmanager
def rare_collections() -> Iterator[None]:
    """In the block, look once in COLLECTION_OBJECTS, and not among what stands from the start.

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
