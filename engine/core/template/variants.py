"""The choice of the variant of a message that a person gets.

Law: the person and the key of the experiment alone decide. So a person gets the same variant again in every
campaign with this key and these weights, and two experiments divide people independently of each other.
"""

from collections.abc import Callable, Sequence
from hashlib import blake2b
from itertools import accumulate

_HASH_BYTES = 8
_HASHES = 1 << 8 * _HASH_BYTES


def variant_chooser(experiment: str, weights: Sequence[int]) -> Callable[[int], int]:
    """Return a function from a person's canonical phone to the index of a variant.

    Among many people, each variant gets the share that its weight has of the sum of `weights`. All weights
    are positive.
    """
    key = blake2b(experiment.encode()).digest()
    ends = [total * _HASHES // sum(weights) for total in accumulate(weights)]

    def choose(phone: int) -> int:
        digest = blake2b(b"%d" % phone, digest_size=_HASH_BYTES, key=key).digest()
        position = int.from_bytes(digest, "big")
        return next(index for index, end in enumerate(ends) if position < end)

    return choose
