"""The yardsticks measure what they say: every message once, and so many open together."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from campaigns.bench import contestants

from benchmarks.senders.baselines import Measured, Send, Task, loop_of, tasks_of

Runs = Callable[[Send, Task], Awaitable[Measured]]
NUMBERS = ("1", "2", "3")


def task(**others: Any) -> Task:
    return Task("", "", "", "", NUMBERS, 100, "", **{"messages": 25, "at_once": 4, **others})


class Service:
    """Accepts all but every fifth; knows what it got, and how many at once."""

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


@pytest.mark.parametrize("runs", [loop_of, tasks_of])
async def test_every_message_goes_once_and_so_many_are_open(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contestants, "TASKS_MAX", 10)
    service = Service()

    measured = await runs(service.send, task())

    assert service.got == Counter(str(to) for to in range(100, 125))
    assert service.most_open == 4
    assert (measured.messages, measured.accepted, len(measured.latencies_ms)) == (25, 20, 25)
    assert measured.elapsed_s > 0


@pytest.mark.parametrize("runs", [loop_of, tasks_of])
async def test_no_new_one_goes_after_its_time(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contestants, "TASKS_MAX", 3_000)
    service = Service()

    measured = await runs(service.send, task(messages=1_000_000, for_s=0.5))

    most = 4 * 0.5 / 0.001 + 4
    assert 0 < measured.messages == sum(service.got.values()) <= most < contestants.TASKS_MAX
