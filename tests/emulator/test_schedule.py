"""Statuses come when they are due, each once, whatever else was added meanwhile."""

from hypothesis import given
from hypothesis import strategies as st

from drumbeat.emulator.people import People, Ratios
from drumbeat.emulator.schedule import SLOT_BITS, Status, StatusSchedule

SLOT_NS = 1 << SLOT_BITS
moments = st.lists(st.integers(0, 20 * SLOT_NS), max_size=80)


def schedule(delay: float = 1.0, read: float = 1.0) -> StatusSchedule:
    return StatusSchedule(People(1, Ratios(0.0, 0.0, read)), delay)


@given(moments, moments, st.integers(1, 7))
def test_each_status_comes_once_when_it_is_due(first: list[int], second: list[int], limit: int) -> None:
    waiting, came = schedule(), list[Status]()
    for index, due_ns in enumerate(first):
        waiting.add(Status(due_ns, index, 0))
    later = [Status(due_ns, len(first) + index, 0) for index, due_ns in enumerate(second)]
    now_ns = 0
    while len(waiting) or later:
        now_ns += SLOT_NS // 2
        if later:
            waiting.add(later.pop())  # also into a past that was taken already
        due = list(waiting.due(now_ns, limit))
        assert len(due) <= limit
        assert all(status.due_ns <= now_ns for status in due)
        came += due
    assert sorted(status.message for status in came) == list(range(len(first) + len(second)))
    assert list(waiting.due(now_ns + SLOT_NS, 99)) == []


@given(moments)
def test_they_come_in_order_and_a_slot_late_at_most(due_ns: list[int]) -> None:
    waiting = schedule()
    for message, each in enumerate(due_ns):
        waiting.add(Status(each, message, 0))
    came = list(waiting.due(10 * SLOT_NS, 1_000))
    assert came == sorted(came)
    assert {status.due_ns for status in came} >= {each for each in due_ns if each < 9 * SLOT_NS}


def test_what_waits_survives_a_snapshot_in_the_middle_of_a_slot() -> None:
    waiting, restored = schedule(delay=0.0), schedule()
    for message in range(5):
        waiting.plan(message, 5511900000000 + message, 1_000)
    taken = list(waiting.due(SLOT_NS, 7))
    restored.load(waiting.dump())
    assert len(restored) == len(waiting) == 15 - len(taken) == 8
    assert restored.last_message() == 4
    rest = list(restored.due(SLOT_NS, 99))
    assert sorted((status.message, status.status) for status in taken + rest) == [
        (message, status) for message in range(5) for status in range(3)
    ]
