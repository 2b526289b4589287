"""The baselines send every message once, with the right count of open requests."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from drumbeat.benchmarks.senders import baselines
from drumbeat.benchmarks.senders.baselines import BaselineResult, Send, Task, in_loops, in_tasks

Runs = Callable[[Send, Task], Awaitable[BaselineResult]]
NUMBERS = ("1", "2", "3")


def task(**others: Any) -> Task:
    return Task("", "", "", "", NUMBERS, 100, "", **{"messages": 25, "in_flight_requests": 4, **others})


class Service:
    """Refuses every fifth request. Counts the requests, and the most at once."""

    def __init__(self) -> None:
        self.got: Counter[str] = Counter()
        self.open = self.most_open = 0

    async def send(self, number: str, body: dict[str, object]) -> bool:
        self.got[str(body["to"])] += 1
        assert number == NUMBERS[(int(str(body["to"])) - 100) % len(NUMBERS)]
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        await asyncio.sleep(0.001)
        self.open -= 1
        return int(str(body["to"])) % 5 > 0


@pytest.mark.parametrize("runs", [in_loops, in_tasks])
async def test_every_message_goes_once_and_so_many_are_open(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(baselines, "TASKS_MAX", 10)
    service = Service()

    measured = await runs(service.send, task())

    assert service.got == Counter(str(to) for to in range(100, 125))
    assert service.most_open == 4
    assert (measured.messages, measured.accepted, sum(count for _, count in measured.histogram)) == (
        25,
        20,
        25,
    )
    assert measured.elapsed_s > 0


@pytest.mark.parametrize("runs", [in_loops, in_tasks])
async def test_no_new_one_goes_after_its_time(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(baselines, "TASKS_MAX", 3_000)
    service = Service()

    measured = await runs(service.send, task(messages=1_000_000, for_s=0.5))

    most = 4 * 0.5 / 0.001 + 4
    assert 0 < measured.messages == sum(service.got.values()) <= most < baselines.TASKS_MAX


@pytest.mark.parametrize("runs", [in_loops, in_tasks])
async def test_no_message_starts_before_its_turn_at_the_offered_rate(runs: Runs) -> None:
    started_s: list[float] = []

    async def send(_: str, body: dict[str, object]) -> bool:
        started_s.append(time.perf_counter())
        return True

    began_s = time.perf_counter()
    measured = await runs(send, task(messages=1_000, per_s=200.0, for_s=0.3))

    assert all(at_s >= began_s + turn / 200.0 for turn, at_s in enumerate(started_s))
    assert 2 <= measured.messages <= 61
