"""How numbers are divided among workers: to whom, when no number moves, and that every mixture comes to rest."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumbeat.engine.core.fair_share import SharedNumber, moves, plan

Wanted = dict[str, frozenset[str]]
Owners = dict[str, str | None]
NUMBERS = [f"n{place:02}" for place in range(24)]


def numbers_of(owners: Owners, *, limits_per_s: dict[str, float] | None = None) -> list[SharedNumber]:
    limits_per_s = limits_per_s or {}
    return [
        SharedNumber(number, limits_per_s.get(number, 80.0), owner, owner is None)
        for number, owner in owners.items()
    ]


def all_want(*workers: str) -> Wanted:
    return {worker: frozenset(NUMBERS) for worker in workers}


def shares(owners: Owners | dict[str, str]) -> list[int]:
    return sorted(Counter(owner for owner in owners.values() if owner is not None).values())


def test_the_first_worker_gets_everything() -> None:
    assert plan(all_want("a"), numbers_of(dict.fromkeys(NUMBERS))) == dict.fromkeys(NUMBERS, "a")


def test_a_worker_that_is_added_gets_its_share_and_nothing_else_moves() -> None:
    owners: Owners = {number: "ab"[place % 2] for place, number in enumerate(NUMBERS)}
    planned = plan(all_want("a", "b", "c"), numbers_of(owners))
    assert shares(planned) == [8, 8, 8]
    moved = {number for number in NUMBERS if planned[number] != owners[number]}
    assert len(moved) == 8 and {planned[number] for number in moved} == {"c"}


def test_the_numbers_of_a_worker_that_died_go_to_the_others_evenly_and_no_other_moves() -> None:
    owners: Owners = {number: "abc"[place % 3] for place, number in enumerate(NUMBERS)}
    left: Owners = {number: None if owner == "c" else owner for number, owner in owners.items()}
    planned = plan(all_want("a", "b"), numbers_of(left))
    assert shares(planned) == [12, 12]
    assert all(planned[number] == owner for number, owner in left.items() if owner is not None)


def test_what_is_soon_free_is_planned_for_and_not_taken_yet() -> None:
    """A killed worker's numbers, before its lease ends: those who live must not move others instead."""
    owners: Owners = dict.fromkeys(NUMBERS[:12], "a") | dict.fromkeys(NUMBERS[12:], None)
    soon_free = [replace(number, free=False) for number in numbers_of(owners)]
    for worker in ("a", "b"):
        part = moves(worker, all_want("a", "b"), soon_free)
        assert (part.take, part.release) == ([], [])


def test_a_worker_that_is_not_live_gets_nothing() -> None:
    part = moves("gone", all_want("a"), numbers_of(dict.fromkeys(NUMBERS)))
    assert (part.take, part.release) == ([], [])


def test_each_worker_does_only_its_own_part() -> None:
    owners: Owners = dict.fromkeys(NUMBERS[:20], "a") | dict.fromkeys(NUMBERS[20:], None)
    wanted, numbers = all_want("a", "b", "c"), numbers_of(owners)
    parts = {worker: moves(worker, wanted, numbers) for worker in wanted}
    assert len(parts["a"].release) == 12 and not parts["a"].take
    assert sorted(parts["b"].take + parts["c"].take) == NUMBERS[20:]


def test_a_number_that_its_owner_no_longer_wants_is_released() -> None:
    wanted = {"a": frozenset(NUMBERS[:12]), "b": frozenset(NUMBERS)}
    part = moves("a", wanted, numbers_of(dict.fromkeys(NUMBERS, "a")))
    assert set(part.release) >= set(NUMBERS[12:])


def test_numbers_that_one_worker_alone_can_use_stay_with_it() -> None:
    wanted = {"a": frozenset(NUMBERS), "b": frozenset(NUMBERS[:2])}
    planned = plan(wanted, numbers_of(dict.fromkeys(NUMBERS, "a")))
    assert {number for number in NUMBERS if planned[number] == "b"} == set(NUMBERS[:2])


@pytest.mark.parametrize("workers", [2, 3, 4, 6])
def test_fast_and_slow_numbers_are_spread(workers: int) -> None:
    """Nine fast numbers among slow ones: nobody gets more of them than needed, from the start or by moves."""
    limits_per_s = {number: 1_000.0 if place < 12 else 80.0 for place, number in enumerate(NUMBERS)}
    names = [f"w{place}" for place in range(workers)]
    for owner in (None, "w0"):
        owners: Owners = dict.fromkeys(NUMBERS, owner)
        planned = plan(all_want(*names), numbers_of(owners, limits_per_s=limits_per_s))
        rates_per_s = [
            sum(limits_per_s[number] for number, holder in planned.items() if holder == name)
            for name in names
        ]
        assert max(rates_per_s) - min(rates_per_s) <= 1_000.0, owner


WORKERS = st.sampled_from("abcdef")
SOME = st.frozensets(st.sampled_from(NUMBERS), min_size=1)
WANTED = st.dictionaries(WORKERS, st.one_of(st.just(frozenset(NUMBERS)), SOME), min_size=1)
OWNERS = st.fixed_dictionaries({number: st.none() | WORKERS for number in NUMBERS})
LIMITS = st.fixed_dictionaries({number: st.sampled_from([20.0, 80.0, 1_000.0]) for number in NUMBERS})


def assert_fair(wanted: Wanted, owners: Owners | dict[str, str]) -> None:
    """Every number that is wanted has an owner that wants it, and shares of the same wishes are equal."""
    for number in NUMBERS:
        takers = {worker for worker, wishes in wanted.items() if number in wishes}
        assert (owners.get(number) in takers) if takers else (owners.get(number) is None)
    counts = Counter(owners.values())
    for one, wishes in wanted.items():
        for other, others_wishes in wanted.items():
            if wishes == others_wishes:
                assert counts[one] - counts[other] <= 1


def live(owners: Owners, wanted: Wanted) -> Owners:
    return {number: owner if owner in wanted else None for number, owner in owners.items()}


@given(WANTED, OWNERS, LIMITS)
def test_a_plan_is_fair_and_the_plan_of_a_plan_moves_nothing(
    wanted: Wanted, owners: Owners, limits_per_s: dict[str, float]
) -> None:
    planned = plan(wanted, numbers_of(live(owners, wanted), limits_per_s=limits_per_s))
    assert_fair(wanted, planned)
    assert plan(wanted, numbers_of(dict(planned), limits_per_s=limits_per_s)) == planned


@given(st.sets(WORKERS, min_size=1), OWNERS, LIMITS)
def test_where_all_want_the_same_no_more_numbers_move_than_must(
    workers: set[str], owners: Owners, limits_per_s: dict[str, float]
) -> None:
    wanted = all_want(*workers)
    owners = live(owners, wanted)
    planned = plan(wanted, numbers_of(owners, limits_per_s=limits_per_s))
    moved = sum(owner is not None and planned[number] != owner for number, owner in owners.items())
    least, larger = divmod(len(NUMBERS), len(workers))
    counts = Counter(owner for owner in owners.values() if owner is not None)
    most = [least + (place < larger) for place in range(len(workers))]
    above = zip(sorted((counts[worker] for worker in workers), reverse=True), most, strict=True)
    assert moved == sum(max(0, count - share) for count, share in above)


@given(WANTED, OWNERS, st.data())
def test_workers_that_act_at_different_times_come_to_rest(
    wanted: Wanted, owners: Owners, data: st.DataObject
) -> None:
    """Each acts on a view that may be one look old; a drain takes as long as it takes."""
    owners = live(owners, wanted)
    draining: set[str] = set()
    view = dict(owners)
    for _ in range(6):
        for worker in data.draw(st.permutations(sorted(wanted))):
            if data.draw(st.booleans()):
                view = dict(owners)
            _act(worker, wanted, view, owners, draining)
        for number in data.draw(st.sets(st.sampled_from(sorted(draining)))) if draining else ():
            draining.discard(number)
            owners[number] = None
    changes = _until_rest(wanted, owners, draining)
    assert_fair(wanted, owners)
    assert changes <= 4, "a few periods"


def _act(worker: str, wanted: Wanted, view: Owners, owners: Owners, draining: set[str]) -> None:
    """As a worker does: a number that somebody owns is not taken, whatever the view says."""
    part = moves(worker, wanted, numbers_of(view))
    for number in part.take:
        if owners[number] is None:
            owners[number] = worker
    draining.update(number for number in part.release if owners[number] == worker)


def _until_rest(wanted: Wanted, owners: Owners, draining: set[str]) -> int:
    """Periods with up-to-date views until nothing changes."""
    for period in range(100):
        before = dict(owners)
        for number in draining:
            owners[number] = None
        draining.clear()
        for worker in sorted(wanted):
            _act(worker, wanted, dict(owners), owners, draining)
        if owners == before and not draining:
            return period
    raise AssertionError("the numbers never come to rest")
