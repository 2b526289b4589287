"""The division of numbers among workers. Each worker makes the plan for all of them, and does its own part.

Law: a number goes only to a worker that wants it. A number moves only from a worker that has at least two
more than the worker that gets it, so each move makes the shares more equal, and moves end. Among workers that
want the same numbers, the shares then differ by at most one. Nobody decides for all: two workers may plan
from different moments, but a number is taken only when nobody owns it, and released only by its owner.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SharedNumber:
    """A number that workers divide. `owner` is None if it is free, or soon free because its owner stopped or
    died.

    `free`: it can be taken now.
    """

    phone_number_id: str
    limit_per_s: float
    owner: str | None
    free: bool


@dataclass(frozen=True, slots=True)
class Moves:
    """The moves of one worker: numbers to `take`, which are free, and numbers to `release` for others."""

    take: list[str]
    release: list[str]


def moves(worker: str, wanted: Mapping[str, Set[str]], numbers: Sequence[SharedNumber]) -> Moves:
    """Return the moves of `worker` towards the plan. `wanted`: the numbers that each live worker may use."""
    planned = plan(wanted, numbers)
    take, release = [], []
    for number in numbers:
        owner = planned.get(number.phone_number_id)
        if number.free and owner == worker:
            take.append(number.phone_number_id)
        elif number.owner == worker and owner != worker:
            release.append(number.phone_number_id)
    return Moves(take, release)


def plan(wanted: Mapping[str, Set[str]], numbers: Sequence[SharedNumber]) -> dict[str, str]:
    """Return the owner of each number that some worker wants. It depends on nothing but the arguments."""
    shares = {worker: _Share(worker, wanted[worker]) for worker in sorted(wanted)}
    ownerless = []
    for number in numbers:
        share = shares.get(number.owner) if number.owner is not None else None
        if share is not None and number.phone_number_id in share.wanted:
            share.add(number)
        else:
            ownerless.append(number)
    # The fastest numbers first, so that the slow ones then even out the rates.
    for number in sorted(ownerless, key=lambda number: (-number.limit_per_s, number.phone_number_id)):
        takers = [share for share in shares.values() if number.phone_number_id in share.wanted]
        if takers:
            min(takers, key=lambda share: share.size).add(number)
    while _move_one(list(shares.values())):
        pass
    return {number: share.worker for share in shares.values() for number in share.numbers}


class _Share:
    """The numbers that the plan gives to one worker."""

    def __init__(self, worker: str, wanted: Set[str]) -> None:
        self.worker = worker
        self.wanted = wanted
        self.numbers: dict[str, SharedNumber] = {}
        self.limit_per_s = 0.0

    @property
    def size(self) -> tuple[int, float, str]:
        """Return the key that compares shares: the count, then the rate of all its numbers together."""
        return len(self.numbers), self.limit_per_s, self.worker

    def add(self, number: SharedNumber) -> None:
        self.numbers[number.phone_number_id] = number
        self.limit_per_s += number.limit_per_s

    def remove(self, number: SharedNumber) -> None:
        del self.numbers[number.phone_number_id]
        self.limit_per_s -= number.limit_per_s


def _move_one(shares: list[_Share]) -> bool:
    """Move one number from the largest possible share to the smallest possible one. False: none moves."""
    shares.sort(key=lambda share: share.size)
    for giver in reversed(shares):
        for taker in shares:
            if len(giver.numbers) < len(taker.numbers) + 2:
                break
            movable = [number for number in giver.numbers.values() if number.phone_number_id in taker.wanted]
            if movable:
                number = min(movable, key=lambda number: _cost(number, giver, taker))
                giver.remove(number)
                taker.add(number)
                return True
    return False


def _cost(number: SharedNumber, giver: _Share, taker: _Share) -> tuple[bool, float, str]:
    """Return the cost of a move. A number that nobody owns costs nothing. Of the others, the one that evens
    out the rates most costs least.
    """
    uneven_per_s = abs(giver.limit_per_s - taker.limit_per_s - 2 * number.limit_per_s)
    return number.owner is not None, uneven_per_s, number.phone_number_id
